/// The JavaScript around a sync function: the functions that it may call, and otto's view of documents.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1, whose engine is otto (ES5).
enum Prelude {
    /// Evaluates to an object with `call(text)`, which runs the function and returns its result as JSON, and
    /// `set(function)`.
    static let text = environment + underscore

    /// Defines the globals. Names that begin with `S$` are reserved for this file.
    private static let environment = #"""
        var realUserCtx, shouldValidate = false, syncFn;
        var S$ = (function (global) {
            var exact = global.S$number, plainNumber = Number, plainFloat = parseFloat, plainInteger = parseInt;
            var parse = JSON.parse, stringify = JSON.stringify, isArray = Array.isArray, keys = Object.keys;
            var has = Object.prototype.hasOwnProperty, tag = Object.prototype.toString, text = String;
            var done;

            function remove(object, names) { names.forEach(function (name) { delete object[name]; }); }

            // Errors are worded as otto words them.
            Duktape.errCreate = function (error) {
                var found = /^identifier '(.*)' undefined$/.exec(error.message);
                if (found) error.message = "'" + found[1] + "' is not defined";
                found = /^cannot (?:read|write) property '(.*)' of (\w+)$/.exec(error.message);
                if (found) error.message = "Cannot access member '" + found[1] + "' of " + found[2];
                return error;
            };

            // What ES5 does not have.
            remove(global, ['S$number', 'globalThis', 'CBOR', 'Duktape', 'Proxy', 'Reflect', 'Symbol', 'Buffer', 'ArrayBuffer',
                'DataView', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array',
                'Uint32Array', 'Float32Array', 'Float64Array', 'TextEncoder', 'TextDecoder', 'performance']);
            remove(Object, ['setPrototypeOf', 'assign', 'getOwnPropertySymbols', 'is']);
            remove(String, ['fromCodePoint']);
            remove(String.prototype, ['codePointAt', 'repeat', 'startsWith', 'endsWith', 'includes']);
            remove(Number, ['EPSILON', 'MAX_SAFE_INTEGER', 'MIN_SAFE_INTEGER', 'parseInt', 'parseFloat', 'isFinite',
                'isInteger', 'isNaN', 'isSafeInteger']);
            remove(Math, ['cbrt', 'clz32', 'hypot', 'imul', 'log2', 'log10', 'sign', 'trunc']);

            // Lists of a document can't change their length.
            var lists = Object.create(Array.prototype);
            ['push', 'pop', 'shift', 'unshift', 'splice'].forEach(function (name) {
                Object.defineProperty(lists, name, { value: function () { throw new TypeError(); } });
            });
            Object.defineProperty(Object.prototype, 'toString', {
                value: function () { return isArray(this) && lists.isPrototypeOf(this) ? '[object GoArray]' : tag.call(this); },
                configurable: true, writable: true
            });

            // Members that are null read as undefined.
            function view(value) {
                if (value === null) return undefined;
                if (typeof value !== 'object') return value;
                // Not recursive: documents may be 10,000 levels deep.
                for (var due = [value]; due.length > 0;) {
                    var outer = due.pop(), isList = isArray(outer), names = isList ? outer : keys(outer);
                    for (var at = 0; at < names.length; at++) {
                        var name = isList ? at : names[at], member = outer[name];
                        if (member === null) outer[name] = undefined;
                        else if (typeof member === 'object') due.push(member);
                    }
                    if (isList) outer.__proto__ = lists;
                }
                return value;
            }

            // The engine rounds halves up, and not to even.
            var decimal = /^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/;
            function rounded(value, plain) {
                if (typeof value !== 'string' || value.length < 16) return plain;
                var found = decimal.exec(value);
                return found && found[0].length > 15 ? exact(found[0]) : plain;
            }
            global.Number = function Number(value) {
                var number = arguments.length === 0 ? 0 : plainNumber(value);
                if (number === number) number = rounded(value, number);
                return this instanceof global.Number ? new plainNumber(number) : number;
            };
            Object.getOwnPropertyNames(plainNumber).forEach(function (name) {
                if (!has.call(global.Number, name) || name === 'prototype') {
                    Object.defineProperty(global.Number, name, Object.getOwnPropertyDescriptor(plainNumber, name));
                }
            });
            Object.defineProperty(plainNumber.prototype, 'constructor',
                { value: global.Number, configurable: true, writable: true });
            global.parseFloat = function parseFloat(value) { return rounded(value, plainFloat(value)); };
            global.parseInt = function parseInt(value, radix) {
                var number = plainInteger(value, radix), digits;
                if (typeof value !== 'string' || value.length < 16 || (radix && radix !== 10)) return number;
                digits = /^\s*[-+]?\d+/.exec(value);
                return digits && digits[0].length > 15 ? exact(digits[0]) : number;
            };

            // Reads JSON without recursion, because the engine reads 1,000 levels, and rounds numbers to even.
            function read(input) {
                var root = [], into = root, outer = [], due = 'value', isNew = false, at = 0, name, value, end;
                function fail() { throw new SyntaxError('invalid json (at offset ' + (at + 1) + ')'); }
                function place(value) {
                    if (isArray(into)) into[into.length] = value;
                    else Object.defineProperty(into, name, { value: value, configurable: true, enumerable: true, writable: true });
                }
                for (; at < input.length; at++) {
                    var sign = input.charAt(at);
                    if (sign === ' ' || sign === '\n' || sign === '\r' || sign === '\t') continue;
                    if (sign === ',') {
                        if (due !== 'end' || outer.length === 0) fail();
                        due = isArray(into) ? 'value' : 'name';
                    } else if (sign === ':') {
                        if (due !== 'colon') fail();
                        due = 'value';
                    } else if (sign === ']' || sign === '}') {
                        if (outer.length === 0 || isArray(into) !== (sign === ']') || !(due === 'end' || isNew)) fail();
                        into = outer.pop();
                        due = 'end';
                    } else if (sign === '[' || sign === '{') {
                        if (due !== 'value') fail();
                        value = sign === '[' ? [] : {};
                        place(value);
                        outer.push(into);
                        into = value;
                        due = sign === '[' ? 'value' : 'name';
                    } else {
                        end = at + 1;
                        if (sign === '"') {
                            for (;; end++) {
                                end = input.indexOf('"', end);
                                if (end < 0) fail();
                                for (var before = end; input.charAt(before - 1) === '\\'; before--);
                                if ((end - before) % 2 === 0) break;
                            }
                            end++;
                        } else {
                            while (end < input.length && ',:]} \n\r\t'.indexOf(input.charAt(end)) < 0) end++;
                        }
                        value = input.substring(at, end);
                        value = typeof parse(value) === 'number' ? rounded(value, parse(value)) : parse(value);
                        if (due === 'name' && sign === '"') { name = value; due = 'colon'; }
                        else if (due === 'value') { place(value); due = 'end'; }
                        else fail();
                        at = end - 1;
                    }
                    isNew = sign === '[' || sign === '{';
                }
                if (due !== 'end' || outer.length > 0) fail();
                return root[0];
            }
            JSON.parse = function parse_(input, reviver) {
                input = text(input);
                if (typeof reviver === 'function') return parse(input, reviver);
                if (/\d{16}|[\d.]{17}/.test(input)) return read(input);
                try { return parse(input); } catch (error) {
                    if (!(error instanceof RangeError)) throw error;
                    return read(input);
                }
            };

            // JSON with members sorted by name.
            function sorted(value, outer) {
                if (value === null || typeof value !== 'object' || typeof value.toJSON === 'function') return value;
                var kind = tag.call(value);
                if (kind !== '[object Array]' && kind !== '[object Object]' || outer.indexOf(value) >= 0) return value;
                if (outer.length === 900) throw new RangeError();
                outer.push(value);
                var copy = isArray(value) ? [] : {};
                if (isArray(value)) {
                    for (var index = 0; index < value.length; index++) copy[index] = sorted(value[index], outer);
                } else {
                    for (var names = keys(value).sort(), at = 0; at < names.length; at++) {
                        copy[names[at]] = sorted(value[names[at]], outer);
                    }
                }
                outer.pop();
                return copy;
            }
            // The same as text, without recursion, because the engine writes 1,000 levels.
            function deepText(value) {
                var parts = [], frames = [];
                function open(value) {
                    if (frames.length > 10000) throw new RangeError();
                    var isList = isArray(value), names = isList ? value : keys(value).sort();
                    parts.push(isList ? '[' : '{');
                    frames.push({ value: value, isList: isList, names: names, at: 0, isEmpty: true });
                }
                function isOpened(value) {
                    if (value === null || typeof value !== 'object' || typeof value.toJSON === 'function') return false;
                    var kind = tag.call(value);
                    return kind === '[object Array]' || kind === '[object Object]';
                }
                open(value);
                while (frames.length > 0) {
                    var frame = frames[frames.length - 1];
                    if (frame.at === frame.names.length) {
                        parts.push(frame.isList ? ']' : '}');
                        frames.pop();
                        continue;
                    }
                    var name = frame.isList ? frame.at : frame.names[frame.at], member = frame.value[name];
                    frame.at++;
                    var inner = isOpened(member) ? '' : stringify(member);
                    if (inner === undefined && !frame.isList) continue;
                    if (!frame.isEmpty) parts.push(',');
                    frame.isEmpty = false;
                    if (!frame.isList) parts.push(stringify(name) + ':');
                    if (inner === '') open(member); else parts.push(inner === undefined ? 'null' : inner);
                }
                return parts.join('');
            }
            JSON.stringify = function stringify_(value, replacer, space) {
                try { return stringify(sorted(value, []), replacer, space); } catch (error) {
                    if (!(error instanceof RangeError) || replacer || space || typeof value.toJSON === 'function') throw error;
                    return deepText(value);
                }
            };

            // Regular expressions neither look around nor back.
            var Pattern = RegExp;
            function refusedPart(source) {
                for (var at = 0, inClass = false; at < source.length; at++) {
                    var part = source.substring(at, at + 3);
                    if (source[at] === '\\') {
                        if (!inClass && /^[1-9]/.test(part.substring(1))) return part.substring(0, 2) + ' <backreference>';
                        at++;
                    } else if (source[at] === '[') inClass = true;
                    else if (source[at] === ']') inClass = false;
                    else if (!inClass && (part === '(?=' || part === '(?!')) return part + ') <lookahead>';
                }
            }
            global.RegExp = function RegExp(source, flags) {
                var part = source instanceof Pattern || source === undefined ? undefined : refusedPart(text(source));
                if (part) throw new TypeError('Invalid regular expression: re2: Invalid ' + part);
                return new Pattern(source, flags);
            };
            global.RegExp.prototype = Pattern.prototype;
            Object.defineProperty(Pattern.prototype, 'constructor', { value: global.RegExp, configurable: true, writable: true });

            function texts(value) {
                return (isArray(value) ? value : [value]).filter(function (one) { return typeof one === 'string'; });
            }
            function makeArray(value) { return isArray(value) ? value : [value]; }
            function inArray(value, list) { return list.indexOf(value) >= 0; }
            function anyInArray(values, list) { return values.some(function (value) { return inArray(value, list); }); }
            function require(isMet, reason) { if (shouldValidate && !isMet()) throw { forbidden: reason }; }
            function note() {
                if (done.log.length < 20) done.log.push(Array.prototype.map.call(arguments, text).join(' ').substring(0, 500));
            }
            function noteOne() {
                if (arguments.length !== 1) throw new RangeError('expected 1 argument(s); got ' + arguments.length);
                note(arguments[0]);
            }
            var own = {
                makeArray: makeArray, inArray: inArray, anyInArray: anyInArray,
                channel: function () {
                    for (var index = 0; index < arguments.length; index++) {
                        texts(arguments[index]).forEach(function (name) { done.channels.push(name); });
                    }
                },
                access: function (users, channels) { done.access.push([texts(users), texts(channels)]); },
                role: function (users, roles) { done.roles.push([texts(users), texts(roles)]); },
                expiry: function (value) {
                    if (typeof value === 'number' || typeof value === 'string') done.expiry.push(value);
                },
                reject: function (status, reason) {
                    status = Math.floor(Number(status));
                    if (status >= 400 && !done.rejected) done.rejected = [status, reason === undefined ? '' : text(reason)];
                },
                requireAdmin: function () { require(function () { return false; }, 'sg admin required'); },
                requireUser: function (names) {
                    require(function () { return inArray(realUserCtx.name, makeArray(names)); }, 'sg wrong user');
                },
                requireRole: function (names) {
                    require(function () {
                        return makeArray(names).some(function (name) { return has.call(realUserCtx.roles, name); });
                    }, 'sg missing role');
                },
                requireAccess: function (names) {
                    require(function () { return anyInArray(makeArray(names), realUserCtx.channels); },
                        'sg missing channel access');
                },
                log: note, console: { log: noteOne, error: noteOne }
            };
            keys(own).forEach(function (name) {
                Object.defineProperty(global, name, { value: own[name], configurable: true, writable: true });
            });

            function readCall(input) {
                try { return parse(input); } catch (error) {
                    if (!(error instanceof RangeError)) throw error;
                    return read(input);
                }
            }

            return {
                set: function (value) { syncFn = value; },
                call: function (input) {
                    done = { channels: [], access: [], roles: [], expiry: [], rejected: null, failed: false, log: [] };
                    var call = readCall(input);
                    shouldValidate = call.user !== null;
                    realUserCtx = call.user || {};
                    try {
                        syncFn(view(call.doc), view(call.oldDoc) || null, { xattrs: {} });
                    } catch (error) {
                        if (error && error.forbidden) own.reject(403, error.forbidden);
                        else if (error && error.unauthorized) own.reject(401, error.unauthorized);
                        else { done.failed = true; done.log.push('exception: ' + error); }
                    }
                    return stringify(done);
                }
            };
        })(this);

        """#
}
