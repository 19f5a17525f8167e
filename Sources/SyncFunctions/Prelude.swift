/// The JavaScript that surrounds a sync function: the functions it may call, and otto's view of documents.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1, whose engine is otto (ES5).
enum Prelude {
    /// Evaluates to an object with `call(text)`, which runs the function and returns what it did, as JSON; and
    /// `set(function)`.
    static let text = environment + underscore

    /// Defines the globals. Names that begin with a capital `S` and a dollar sign are this file's own.
    private static let environment = #"""
        var realUserCtx, shouldValidate = false, syncFn;
        var S$ = (function (global) {
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
            remove(global, ['globalThis', 'CBOR', 'Duktape', 'Proxy', 'Reflect', 'Symbol', 'Buffer', 'ArrayBuffer',
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
                if (isArray(value)) {
                    for (var index = 0; index < value.length; index++) value[index] = view(value[index]);
                    value.__proto__ = lists;
                    return value;
                }
                // A loop, not forEach: a call through the engine's own functions takes its stack, and few fit.
                for (var names = keys(value), at = 0; at < names.length; at++) {
                    var member = value[names[at]];
                    if (member === null || typeof member === 'object') value[names[at]] = view(member);
                }
                return value;
            }

            // JSON with members sorted by name.
            function sorted(value, outer) {
                if (value === null || typeof value !== 'object' || typeof value.toJSON === 'function') return value;
                var kind = tag.call(value);
                if (kind !== '[object Array]' && kind !== '[object Object]' || outer.indexOf(value) >= 0) return value;
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
            JSON.stringify = function stringify_(value, replacer, space) {
                return stringify(sorted(value, []), replacer, space);
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
                log: note, console: { log: note, error: note }
            };
            keys(own).forEach(function (name) {
                Object.defineProperty(global, name, { value: own[name], configurable: true, writable: true });
            });

            return {
                set: function (value) { syncFn = value; },
                call: function (input) {
                    done = { channels: [], access: [], roles: [], expiry: [], rejected: null, failed: false, log: [] };
                    var call = parse(input);
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
