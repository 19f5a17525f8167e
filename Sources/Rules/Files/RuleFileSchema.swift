/// The JSON Schema of rule files, with which editors complete, explain and check what ``RuleFile`` reads.
///
/// It covers only the form, not that names are unique, files exist and programs compile. `assets/rule-file.schema.json`
/// is this text with a final line break.
///
/// - Note: Source: JSON Schema draft-07, which yaml-language-server supports best. Only that server reads descriptions
///   beside `$ref` and `defaultSnippets`.
package enum RuleFileSchema {
    /// The schema as JSON, without a final line break.
    package static let text =
        beginning
        + [rule, selectors, actions, values, tests, kinds].joined(separator: ",\n")
        + "\n  }\n}"

    private static let beginning = #"""
        {
          "$schema": "http://json-schema.org/draft-07/schema#",
          "title": "changebot rule file",
          "description": "When a changed document matches, do something to it. Paths are relative to this file.",
          "type": "object",
          "required": ["version", "rules"],
          "additionalProperties": false,
          "properties": {
            "version": { "title": "Version of the rule language", "description": "Always 1.", "const": 1 },
            "$schema": { "title": "This schema", "description": "For editors, in JSON files.", "type": "string" },
            "kind": {
              "title": "Kind",
              "description": "kind: mapping, for import --map. Left out: rules for changes, for run and fix.",
              "const": "mapping"
            },
            "slurp": {
              "title": "Slurped files",
              "description": "slurp: [users]: programs know $users, all documents of import --slurp users=FILE.",
              "type": "array",
              "uniqueItems": true,
              "items": { "type": "string", "pattern": "^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$" }
            },
            "otherwise": {
              "title": "Otherwise",
              "description": "Documents that no rule of a mapping is for: pass (the default), drop or reject them.",
              "enum": ["pass", "drop", "reject"],
              "default": "pass"
            },
            "rules": {
              "title": "Rules",
              "description": "Each sees the document as the ones before left it; again until nothing changes.",
              "type": "array",
              "items": { "$ref": "#/definitions/rule" }
            },
            "tests": {
              "title": "Tests",
              "description": "Documents, and what this file's rules make of them. Run: changebot rules test FILE",
              "type": "array",
              "items": { "$ref": "#/definitions/test" }
            }
          },
          "if": { "properties": { "kind": { "const": "mapping" } }, "required": ["kind"] },
          "then": { "$ref": "#/definitions/mappingFile" },
          "else": { "$ref": "#/definitions/changesFile" },
          "defaultSnippets": [
            {
              "label": "a rule file",
              "description": "One rule and a test for it",
              "body": {
                "version": 1,
                "rules": [
                  {
                    "name": "${1:complete-missing}",
                    "when": { "type": "${2:task}", "${3:complete}": { "$exists": false } },
                    "then": [{ "merge": { "${3:complete}": false } }]
                  }
                ],
                "tests": [
                  {
                    "name": "${4:a task without it gets one}",
                    "given": { "_id": "t1", "type": "${2:task}" },
                    "expect": { "fired": ["${1:complete-missing}"] }
                  }
                ]
              }
            }
          ],
          "definitions": {
        """# + "\n"

    private static let rule = #"""
            "rule": {
              "title": "Rule",
              "description": "When it fires, and what it does then.",
              "type": "object",
              "required": ["name", "when", "then"],
              "additionalProperties": false,
              "properties": {
                "name": {
                  "title": "Name",
                  "description": "Your choice, but unique over all files. Reports and dead letters show it.",
                  "type": "string",
                  "minLength": 1,
                  "examples": ["complete-missing"]
                },
                "when": {
                  "title": "When",
                  "description": "A CouchDB Mango selector: { type: task, complete: true }. {} is for all.",
                  "$ref": "#/definitions/selector"
                },
                "unless": {
                  "title": "Unless",
                  "description": "A selector that the document must not match: { archived: true }",
                  "$ref": "#/definitions/selector"
                },
                "if": {
                  "title": "If",
                  "description": "A jq condition, asked if the selectors hold. Field against field: .owner != .author",
                  "oneOf": [{ "$ref": "#/definitions/program" }, { "$ref": "#/definitions/computed" }]
                },
                "on": {
                  "title": "On",
                  "description": "[change], the default: documents. [delete]: tombstones, with _id and _rev only.",
                  "type": "array",
                  "minItems": 1,
                  "items": { "enum": ["change", "delete"] },
                  "default": ["change"]
                },
                "then": {
                  "title": "Then",
                  "description": "Actions, in order; [] only counts. The document is written once, if it is different.",
                  "type": "array",
                  "items": { "$ref": "#/definitions/action" }
                },
                "on_error": {
                  "title": "On error",
                  "description": "If the rule fails. set-aside: a dead letter, no write. skip: the other rules go on.",
                  "enum": ["set-aside", "skip"],
                  "default": "set-aside"
                },
                "allow": {
                  "title": "Accepted warnings",
                  "description": "Codes of warnings of `changebot rules check` that are meant: allow: [fires-again]",
                  "type": "array",
                  "items": {
                    "enum": [
                      "never-fires", "useless-unless", "tombstone-field", "duplicate-rule", "fires-again",
                      "never-rests", "rule-loop", "undone-effect", "field-name", "unknown-type", "white-space",
                      "duplicate-value", "mixed-types", "regex", "large-attachment", "lost-attachment",
                      "writes-deleted", "not-a-program", "not-an-operator", "program", "unused-allow"
                    ]
                  }
                }
              },
              "defaultSnippets": [
                {
                  "label": "a rule",
                  "body": {
                    "name": "${1:name}",
                    "when": { "type": "${2:task}" },
                    "then": [{ "merge": { "${3:field}": "${4:value}" } }]
                  }
                }
              ]
            }
        """#
}
