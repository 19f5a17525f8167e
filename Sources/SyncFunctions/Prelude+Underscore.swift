extension Prelude {
    /// The functions of Underscore that sync functions use most, as `_.NAME(…)`. Without chaining.
    ///
    /// - Note: Source: Sync Gateway has Underscore 1.4.4; https://underscorejs.org.
    static let underscore = #"""
        var _ = (function () {
            var tag = Object.prototype.toString, has = Object.prototype.hasOwnProperty;
            function values(list) {
                if (list === null || list === undefined) return [];
                return Array.isArray(list) ? list : Object.keys(list).map(function (name) { return list[name]; });
            }
            function is(kind) { return function (value) { return tag.call(value) === '[object ' + kind + ']'; }; }
            function picker(by) { return typeof by === 'function' ? by : function (value) { return value[by]; }; }
            function same(left, right) {
                if (left === right) return left !== 0 || 1 / left === 1 / right;
                if (left === null || right === null || left === undefined || right === undefined) return false;
                var kind = tag.call(left);
                if (kind !== tag.call(right)) return false;
                if (kind === '[object Number]') return +left !== +left ? +right !== +right : +left === +right;
                if (kind === '[object Date]' || kind === '[object Boolean]') return +left === +right;
                if (kind === '[object String]' || kind === '[object RegExp]') return String(left) === String(right);
                if (typeof left !== 'object' || typeof right !== 'object') return false;
                var names = Object.keys(left);
                return names.length === Object.keys(right).length && names.every(function (name) {
                    return has.call(right, name) && same(left[name], right[name]);
                });
            }
            function flat(list, shallow, out) {
                values(list).forEach(function (value) {
                    if (!Array.isArray(value)) out.push(value);
                    else if (shallow) Array.prototype.push.apply(out, value);
                    else flat(value, false, out);
                });
                return out;
            }
            function extend(object) {
                Array.prototype.slice.call(arguments, 1).forEach(function (source) {
                    for (var name in source) object[name] = source[name];
                });
                return object;
            }
            function unique(list, sorted, by) {
                var seen = [], found = [];
                var pick = typeof sorted === 'function' ? sorted : by || function (value) { return value; };
                values(list).forEach(function (value) {
                    var key = pick(value);
                    if (seen.indexOf(key) < 0) { seen.push(key); found.push(value); }
                });
                return found;
            }
            function contains(list, value) { return values(list).indexOf(value) >= 0; }
            function best(sign) {
                return function (list, by) {
                    var found = -sign * Infinity, rank = -sign * Infinity;
                    values(list).forEach(function (value) {
                        var number = by ? by(value) : value;
                        if (sign * (number - rank) > 0) { found = value; rank = number; }
                    });
                    return found;
                };
            }
            function subset(keeps) {
                return function (object) {
                    var names = flat(Array.prototype.slice.call(arguments, 1), true, []), copy = {};
                    for (var name in object) if ((names.indexOf(name) >= 0) === keeps) copy[name] = object[name];
                    return copy;
                };
            }
            var own = {
                VERSION: '1.4.4',
                identity: function (value) { return value; },
                isArray: Array.isArray, isObject: function (value) { return value === Object(value); },
                isString: is('String'), isNumber: is('Number'), isDate: is('Date'), isRegExp: is('RegExp'),
                isFunction: function (value) { return typeof value === 'function'; },
                isBoolean: function (value) { return value === true || value === false || is('Boolean')(value); },
                isNull: function (value) { return value === null; },
                isUndefined: function (value) { return value === undefined; },
                isNaN: function (value) { return is('Number')(value) && +value !== +value; },
                isFinite: function (value) { return isFinite(value) && !isNaN(parseFloat(value)); },
                isEmpty: function (value) { return value === null || value === undefined || !(typeof value === 'string' ? value : values(value)).length; },
                isEqual: same, has: function (object, name) { return has.call(object, name); },
                keys: function (object) { return Object.keys(object); }, values: values, extend: extend,
                pairs: function (object) { return Object.keys(object).map(function (name) { return [name, object[name]]; }); },
                object: function (names, list) {
                    var object = {};
                    (names || []).forEach(function (name, index) {
                        if (list) object[name] = list[index]; else object[name[0]] = name[1];
                    });
                    return object;
                },
                functions: function (object) {
                    var names = [];
                    for (var name in object) if (typeof object[name] === 'function') names.push(name);
                    return names.sort();
                },
                defaults: function (object) {
                    Array.prototype.slice.call(arguments, 1).forEach(function (source) {
                        for (var name in source) if (object[name] === undefined || object[name] === null) object[name] = source[name];
                    });
                    return object;
                },
                clone: function (value) {
                    if (value !== Object(value)) return value;
                    return Array.isArray(value) ? value.slice() : extend({}, value);
                },
                pick: subset(true), omit: subset(false),
                each: function (list, each, context) {
                    if (Array.isArray(list)) list.forEach(each, context);
                    else if (list) Object.keys(list).forEach(function (name) { each.call(context, list[name], name, list); });
                },
                map: function (list, each, context) {
                    var found = [];
                    own.each(list, function (value, name) { found.push(each.call(context, value, name, list)); });
                    return found;
                },
                filter: function (list, test, context) { return values(list).filter(test, context); },
                reject: function (list, test, context) {
                    return values(list).filter(function (value, name) { return !test.call(context, value, name, list); });
                },
                find: function (list, test, context) { return values(list).filter(test, context)[0]; },
                every: function (list, test, context) { return values(list).every(test || own.identity, context); },
                some: function (list, test, context) { return values(list).some(test || own.identity, context); },
                reduce: function (list, each, start) {
                    return arguments.length > 2 ? values(list).reduce(each, start) : values(list).reduce(each);
                },
                contains: contains,
                pluck: function (list, name) { return values(list).map(function (value) { return value[name]; }); },
                where: function (list, members) {
                    return values(list).filter(function (value) {
                        return Object.keys(members).every(function (name) { return value[name] === members[name]; });
                    });
                },
                findWhere: function (list, members) { return own.where(list, members)[0]; },
                max: best(1), min: best(-1),
                sortBy: function (list, by) {
                    var pick = picker(by);
                    return values(list).map(function (value, index) {
                        return { value: value, rank: pick(value), index: index };
                    }).sort(function (left, right) {
                        if (left.rank === right.rank) return left.index - right.index;
                        return left.rank > right.rank || left.rank === undefined ? 1 : -1;
                    }).map(function (entry) { return entry.value; });
                },
                groupBy: function (list, by) {
                    var groups = {}, pick = picker(by);
                    values(list).forEach(function (value) {
                        var key = pick(value);
                        if (!has.call(groups, key)) groups[key] = [];
                        groups[key].push(value);
                    });
                    return groups;
                },
                size: function (value) { return value === null || value === undefined ? 0 : typeof value === 'string' ? value.length : values(value).length; },
                toArray: function (list) { return values(list).slice(); },
                first: function (list, count) { return count === undefined ? list[0] : Array.prototype.slice.call(list, 0, count); },
                last: function (list, count) {
                    return count === undefined ? list[list.length - 1] : Array.prototype.slice.call(list, Math.max(list.length - count, 0));
                },
                rest: function (list, count) { return Array.prototype.slice.call(list, count === undefined ? 1 : count); },
                initial: function (list, count) {
                    return Array.prototype.slice.call(list, 0, list.length - (count === undefined ? 1 : count));
                },
                compact: function (list) { return values(list).filter(own.identity); },
                flatten: function (list, shallow) { return flat(list, shallow, []); },
                uniq: unique,
                union: function () { return unique(flat(Array.prototype.slice.call(arguments), true, [])); },
                intersection: function (list) {
                    var others = Array.prototype.slice.call(arguments, 1);
                    return unique(list).filter(function (value) {
                        return others.every(function (other) { return contains(other, value); });
                    });
                },
                difference: function (list) {
                    var others = flat(Array.prototype.slice.call(arguments, 1), true, []);
                    return values(list).filter(function (value) { return others.indexOf(value) < 0; });
                },
                without: function (list) { return own.difference(list, Array.prototype.slice.call(arguments, 1)); },
                indexOf: function (list, value) { return values(list).indexOf(value); },
                lastIndexOf: function (list, value) { return values(list).lastIndexOf(value); },
                range: function (start, end, step) {
                    var found = [];
                    if (end === undefined) { end = start || 0; start = 0; }
                    step = step || 1;
                    for (var count = Math.max(Math.ceil((end - start) / step), 0); count > 0; count--, start += step) found.push(start);
                    return found;
                },
                escape: function (text) {
                    return String(text).replace(/[&<>"'\/]/g, function (sign) {
                        return { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;', '/': '&#x2F;' }[sign];
                    });
                }
            };
            [['each', 'forEach'], ['map', 'collect'], ['filter', 'select'], ['find', 'detect'], ['every', 'all'], ['some', 'any'],
                ['contains', 'include'], ['reduce', 'foldl'], ['reduce', 'inject'], ['first', 'head'], ['rest', 'tail'],
                ['uniq', 'unique'], ['functions', 'methods']
            ].forEach(function (pair) { own[pair[1]] = own[pair[0]]; });
            function wrap(value) { return value; }
            Object.keys(own).forEach(function (name) { wrap[name] = own[name]; });
            return wrap;
        })();
        """#
}
