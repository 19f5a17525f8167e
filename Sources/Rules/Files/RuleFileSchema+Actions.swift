extension RuleFileSchema {
    /// The schema of actions.
    static let actions = #"""
            "action": {
              "title": "Action",
              "description": "Exactly one of these; begin each with '- '.",
              "type": "object",
              "minProperties": 1,
              "maxProperties": 1,
              "additionalProperties": false,
              "properties": {
                "attach": {
                  "title": "Attach a file",
                  "description": "attach: { name: image, file: ../assets/apple.png }",
                  "$ref": "#/definitions/attach"
                },
                "detach": {
                  "title": "Remove an attachment",
                  "description": "detach: image. One that is not there is no fault.",
                  "oneOf": [
                    { "type": "string", "minLength": 1 },
                    {
                      "type": "object",
                      "required": ["name"],
                      "additionalProperties": false,
                      "properties": { "name": { "$ref": "#/definitions/text" } }
                    }
                  ]
                },
                "merge": {
                  "title": "Change members",
                  "description": "A JSON Merge Patch (RFC 7396): merge: { complete: false, old: null }. null removes.",
                  "type": "object",
                  "properties": { "jq": { "title": "Computed, if it stands alone" } },
                  "$comment": "An object with nothing but jq is computed.",
                  "if": { "required": ["jq"], "maxProperties": 1 },
                  "then": { "$ref": "#/definitions/computed" },
                  "else": { "additionalProperties": { "$ref": "#/definitions/value" } }
                },
                "patch": {
                  "title": "Change places",
                  "description": "A JSON Patch (RFC 6902). If one of its tests fails, the rule does not fire.",
                  "oneOf": [
                    { "type": "array", "items": { "$ref": "#/definitions/operation" } },
                    { "$ref": "#/definitions/computed" }
                  ]
                },
                "delete": {
                  "title": "Make the document a tombstone",
                  "description": "delete: {}. Nothing can come behind it. In a mapping: drop the document.",
                  "anyOf": [{ "type": "object", "maxProperties": 0 }, { "enum": [true, null] }],
                  "defaultSnippets": [{ "label": "{}", "body": {} }]
                },
                "put": {
                  "title": "Write another document",
                  "description": "put: { id: summary, document: { type: summary } }. Written before the changed one.",
                  "$ref": "#/definitions/put"
                }
              },
              "defaultSnippets": [
                {
                  "label": "attach",
                  "body": { "attach": { "name": "${1:image}", "file": "${2:../assets/apple.png}" } }
                },
                { "label": "detach", "body": { "detach": "${1:image}" } },
                { "label": "merge", "body": { "merge": { "${1:field}": "${2:value}" } } },
                {
                  "label": "merge, computed",
                  "body": { "merge": { "${1:createdAt}": { "jq": "${2:\\$now | todate}" } } }
                },
                {
                  "label": "patch",
                  "body": { "patch": [{ "op": "${1:replace}", "path": "${2:/field}", "value": "${3:value}" }] }
                },
                { "label": "delete", "body": { "delete": {} } },
                {
                  "label": "put",
                  "body": {
                    "put": {
                      "id": { "jq": "${1:\"list-summary.\" + ._id}" },
                      "document": { "type": "${2:list-summary}" },
                      "if_exists": "${3:replace}"
                    }
                  }
                }
              ]
            },
            "attach": {
              "type": "object",
              "required": ["name", "file"],
              "additionalProperties": false,
              "properties": {
                "name": {
                  "title": "Name of the attachment",
                  "description": "What it is called in the document: name: image",
                  "$ref": "#/definitions/attachmentName"
                },
                "file": {
                  "title": "File",
                  "description": "Beside this file, or in the folder: ../assets/apple.png. Computed: needs a folder.",
                  "$ref": "#/definitions/text"
                },
                "folder": {
                  "title": "Folder",
                  "description": "Where the file lies; a computed file can't leave it: folder: ../assets",
                  "type": "string",
                  "minLength": 1
                },
                "content_type": {
                  "title": "Content type",
                  "description": "content_type: image/png. Left out, it comes from the file's ending.",
                  "oneOf": [
                    { "type": "string", "pattern": "^[!-.0-~]+/[!-~][ -~]*$" },
                    { "$ref": "#/definitions/computed" }
                  ],
                  "examples": ["image/png", "image/jpeg", "application/pdf", "text/plain"]
                }
              },
              "if": { "properties": { "file": { "type": "object" } }, "required": ["file"] },
              "then": { "required": ["folder"] }
            },
            "attachmentName": {
              "oneOf": [{ "type": "string", "pattern": "^[^_]" }, { "$ref": "#/definitions/computed" }]
            },
            "operation": {
              "title": "Operation of a JSON Patch",
              "description": "{ op: replace, path: /complete, value: true }. '_…' is the gateway's, save in mappings.",
              "type": "object",
              "properties": {
                "op": {
                  "description": "add, remove, replace, move, copy, or test",
                  "anyOf": [
                    { "enum": ["add", "remove", "replace", "move", "copy", "test"] },
                    { "$ref": "#/definitions/computed" }
                  ]
                },
                "path": {
                  "description": "A JSON Pointer: /taskList/owner, /tags/0, /tags/- (the end); ~1 is /, ~0 is ~.",
                  "$ref": "#/definitions/pointer"
                },
                "from": { "description": "Where move and copy take it from: /name", "$ref": "#/definitions/pointer" },
                "value": {
                  "description": "What add and replace write and test expects.",
                  "$ref": "#/definitions/value"
                },
                "jq": { "title": "Computed, if it stands alone" }
              },
              "if": { "required": ["jq"], "maxProperties": 1 },
              "then": { "$ref": "#/definitions/computed" },
              "else": {
                "required": ["op", "path"],
                "allOf": [
                  {
                    "if": { "properties": { "op": { "enum": ["add", "replace", "test"] } } },
                    "then": { "required": ["value"] }
                  },
                  { "if": { "properties": { "op": { "enum": ["move", "copy"] } } }, "then": { "required": ["from"] } }
                ]
              }
            },
            "pointer": {
              "oneOf": [{ "type": "string", "pattern": "^(/([^~/]|~[01])*)*$" }, { "$ref": "#/definitions/computed" }]
            },
            "put": {
              "type": "object",
              "required": ["document"],
              "additionalProperties": false,
              "properties": {
                "id": {
                  "title": "Id of the other document",
                  "description": "id: { jq: '\"list-summary.\" + ._id' }. Left out, the document's own _id says it.",
                  "$ref": "#/definitions/text"
                },
                "document": {
                  "title": "The other document",
                  "description": "document: { type: summary, name: { jq: .name } }. One program may give several.",
                  "type": "object",
                  "properties": {
                    "_id": { "description": "Which document it is, if there is no id.", "$ref": "#/definitions/text" },
                    "jq": { "title": "Computed, if it stands alone" }
                  },
                  "if": { "required": ["jq"], "maxProperties": 1 },
                  "then": { "$ref": "#/definitions/computed" },
                  "else": { "additionalProperties": { "$ref": "#/definitions/value" } }
                },
                "keyspace": {
                  "title": "Keyspace",
                  "description": "Another keyspace of the same server: todo.app.summaries. Default: the document's.",
                  "type": "string",
                  "minLength": 1
                },
                "if_exists": {
                  "title": "If it exists",
                  "description": "keep it (the default), replace all but its attachments, or merge into it.",
                  "enum": ["keep", "replace", "merge"],
                  "default": "keep"
                },
                "allow_design": {
                  "title": "Allow a design document",
                  "description": "true: the id, written out, may begin with _design/. A computed one never may.",
                  "type": "boolean",
                  "default": false
                }
              },
              "anyOf": [
                { "required": ["id"] },
                {
                  "properties": {
                    "document": { "anyOf": [{ "required": ["_id"] }, { "required": ["jq"], "maxProperties": 1 }] }
                  }
                }
              ]
            }
        """#

    /// The schema of values that may be computed. A template can be any value, so only the computed parts of a
    /// ``Template`` are checked.
    static let values = #"""
            "program": {
              "title": "jq program",
              "description": "'.' is the document; $now, in seconds; $change.seq .id .rev .deleted; $match.GROUP",
              "type": "string"
            },
            "computed": {
              "title": "Computed value",
              "description": "{ jq: '$now | todate' }. No output: the member is left out, or the action does nothing.",
              "type": "object",
              "required": ["jq"],
              "additionalProperties": false,
              "properties": { "jq": { "$ref": "#/definitions/program" } }
            },
            "text": {
              "title": "Text, or { jq: PROGRAM }",
              "oneOf": [{ "type": "string", "minLength": 1 }, { "$ref": "#/definitions/computed" }]
            },
            "value": {
              "title": "A value, or { jq: PROGRAM }, also deep inside",
              "if": { "type": "object", "required": ["jq"], "maxProperties": 1 },
              "then": { "$ref": "#/definitions/computed" },
              "else": {
                "items": { "$ref": "#/definitions/value" },
                "additionalProperties": { "$ref": "#/definitions/value" }
              }
            }
        """#
}
