extension RuleFileSchema {
    /// The schema of selectors. They begin with field names or with `$and` and the like; a field may have a value,
    /// operators, or subfields.
    static let selectors = #"""
            "selector": {
              "title": "Selector",
              "description": "All of it must hold: { type: task, taskList.owner: amy, createdAt: { $exists: true } }",
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "$and": {
                  "description": "All of these hold: $and: [{ a: 1 }, { b: 2 }]",
                  "type": "array",
                  "items": { "$ref": "#/definitions/selector" }
                },
                "$or": {
                  "description": "At least one of these holds: $or: [{ a: 1 }, { b: 2 }]. An empty list holds too.",
                  "type": "array",
                  "items": { "$ref": "#/definitions/selector" }
                },
                "$nor": {
                  "description": "None of these holds: $nor: [{ a: 1 }, { b: 2 }]. The fields must still be there.",
                  "type": "array",
                  "items": { "$ref": "#/definitions/selector" }
                },
                "$not": {
                  "description": "This does not hold: $not: { a: 1 }. The field must still be there.",
                  "$ref": "#/definitions/selector"
                }
              },
              "patternProperties": { "^(?![$.]|.*[^\\\\]\\.(\\.|$)).": { "$ref": "#/definitions/condition" } }
            },
            "condition": {
              "title": "Condition",
              "description": "A value, or operators: { $gte: 1, $lt: 10 }. A missing field has $exists: false only.",
              "anyOf": [
                { "$ref": "#/definitions/operators" },
                { "type": ["string", "number", "boolean", "null", "array"] }
              ]
            },
            "operators": {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "$eq": { "description": "Equal, as CouchDB collates: $eq: apple" },
                "$ne": { "description": "There, and not equal: $ne: apple" },
                "$lt": {
                  "description": "Less: $lt: 10. Order of kinds: null, false, true, numbers, strings, arrays, objects."
                },
                "$lte": { "description": "Less or equal: $lte: 10. Other kinds are ordered too: see $lt." },
                "$gt": { "description": "Greater: $gt: 10. Every string is greater than every number: see $lt." },
                "$gte": {
                  "description": "Greater or equal: $gte: \"2026-11-20\". Other kinds are ordered too: see $lt."
                },
                "$in": {
                  "description": "Equal to one of these, or a list with such an element: $in: [a, b]",
                  "type": "array"
                },
                "$nin": { "description": "There, and equal to none of these: $nin: [a, b]", "type": "array" },
                "$all": { "description": "A list that has all of these as elements: $all: [a, b]", "type": "array" },
                "$exists": {
                  "description": "Whether the field is there, be it null: $exists: false",
                  "type": "boolean"
                },
                "$type": {
                  "description": "What kind of value it is: $type: string",
                  "enum": ["null", "boolean", "number", "string", "array", "object"]
                },
                "$size": { "description": "A list of so many elements: $size: 3", "type": "integer", "minimum": 0 },
                "$mod": {
                  "description": "A whole number: divisor and remainder: $mod: [2, 1]",
                  "type": "array",
                  "items": [{ "type": "integer", "not": { "const": 0 } }, { "type": "integer" }],
                  "minItems": 2,
                  "maxItems": 2
                },
                "$regex": {
                  "description": "This PCRE2 pattern is found, in bytes; (?i) folds ASCII: $regex: (?i)^apple$",
                  "type": "string"
                },
                "$beginsWith": { "description": "A string with this prefix: $beginsWith: amy.", "type": "string" },
                "$elemMatch": {
                  "description": "A list with at least one such element: $elemMatch: { done: true }",
                  "$ref": "#/definitions/operators"
                },
                "$allMatch": {
                  "description": "A list, not empty, of such elements only: $allMatch: { $gt: 0 }",
                  "$ref": "#/definitions/operators"
                },
                "$keyMapMatch": {
                  "description": "An object with at least one such name: $keyMapMatch: { $beginsWith: old }",
                  "$ref": "#/definitions/operators"
                },
                "$and": {
                  "description": "All of these hold for the field: $and: [{ $regex: a }, { $regex: b }]",
                  "type": "array",
                  "items": { "$ref": "#/definitions/condition" }
                },
                "$or": {
                  "description": "At least one of these holds for the field: $or: [apple, { $beginsWith: pine }]",
                  "type": "array",
                  "items": { "$ref": "#/definitions/condition" }
                },
                "$nor": {
                  "description": "The field is there, none of these holds. Not within $elemMatch and its like.",
                  "type": "array",
                  "items": { "$ref": "#/definitions/condition" }
                },
                "$not": {
                  "description": "The field is there and this does not hold for it: $not: { $regex: apple }",
                  "$ref": "#/definitions/operators"
                }
              },
              "patternProperties": { "^(?![$.]|.*[^\\\\]\\.(\\.|$)).": { "$ref": "#/definitions/condition" } }
            }
        """#
}
