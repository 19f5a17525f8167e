extension RuleFileSchema {
    /// The schema of tests.
    static let tests = #"""
            "test": {
              "title": "Test",
              "description": "A document, and what the rules of this file are expected to make of it.",
              "type": "object",
              "required": ["name", "given", "expect"],
              "additionalProperties": false,
              "properties": {
                "name": {
                  "title": "Name",
                  "description": "What the test shows: a task with a picture is left alone",
                  "type": "string",
                  "minLength": 1
                },
                "given": {
                  "title": "Given",
                  "description": "The document: { _id: t1, type: task }. With _deleted: true it is a tombstone.",
                  "type": "object"
                },
                "now": {
                  "title": "Now",
                  "description": "What programs know as $now: 2026-11-20T10:00:00Z, or seconds since 1970.",
                  "type": ["string", "integer"],
                  "pattern": "^(\\d+|\\d{4}(-\\d\\d){2}([Tt ]\\d\\d(:\\d\\d){2}(\\.\\d+)?([Zz]|[+-]\\d\\d:\\d\\d))?)$",
                  "examples": ["2026-11-20T10:00:00Z"]
                },
                "slurp": {
                  "title": "Slurped files",
                  "description": "In mappings, what programs know as $NAME: { users: [{ _id: u1 }] }. Left out: empty.",
                  "type": "object",
                  "additionalProperties": { "type": "array" }
                },
                "expect": { "$ref": "#/definitions/expectation" }
              },
              "defaultSnippets": [
                {
                  "label": "a test",
                  "body": {
                    "name": "${1:what it shows}",
                    "given": { "_id": "t1", "type": "${2:task}" },
                    "expect": { "fired": ["${3:rule}"] }
                  }
                }
              ]
            },
            "expectation": {
              "title": "Expect",
              "description": "What is not named here may be anything. A fault is a failure unless 'error' expects it.",
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "fired": {
                  "title": "Fired",
                  "description": "The rules that fire, in that order, also those that change nothing; [] for none.",
                  "type": "array",
                  "items": { "type": "string" }
                },
                "document": {
                  "title": "Document",
                  "description": "The whole document afterwards, without _rev. _attachments may be left out.",
                  "type": "object"
                },
                "documents": {
                  "title": "Documents",
                  "description": "In mappings: all that is given, in order. _attachments may be left out.",
                  "type": "array",
                  "items": { "type": "object" }
                },
                "patch": {
                  "title": "Patch",
                  "description": "The same as a JSON Patch, attachments left out: patch: [] for no change.",
                  "type": "array",
                  "items": { "type": "object" }
                },
                "attachments": {
                  "title": "Attachments",
                  "description": "All that are added, by name: attachments: { image: { file: ../assets/apple.png } }",
                  "type": "object",
                  "additionalProperties": { "$ref": "#/definitions/expectedFile" }
                },
                "deleted": {
                  "title": "Deleted",
                  "description": "Whether the document becomes a tombstone.",
                  "type": "boolean"
                },
                "effects": {
                  "title": "Effects",
                  "description": "Other documents, and what is detached; of each only what is named: [{ id: summary }]",
                  "type": "array",
                  "items": { "type": "object" }
                },
                "error": {
                  "title": "Error",
                  "description": "Part of the message of the dead letter, or true for any: error: rule loop",
                  "oneOf": [{ "type": "string" }, { "const": true }]
                }
              }
            },
            "expectedFile": {
              "title": "An attachment that is added",
              "description": "{} if it may be anything.",
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "file": {
                  "description": "A file with the same content, relative to this file: file: ../assets/apple.png",
                  "type": "string",
                  "minLength": 1
                },
                "content_type": { "description": "content_type: image/png", "type": "string", "minLength": 1 },
                "length": { "description": "Bytes.", "type": "integer", "minimum": 0 },
                "sha256": { "description": "In hexadecimal.", "type": "string", "pattern": "^[0-9a-f]{64}$" }
              }
            }
        """#
}
