extension RuleFileSchema {
    /// What only rule files or only mappings may have, in addition to the common schema. Keys in both are checked
    /// twice.
    static let kinds = #"""
            "changesFile": {
              "properties": {
                "slurp": false,
                "otherwise": false,
                "rules": {
                  "items": {
                    "properties": {
                      "then": {
                        "items": {
                          "properties": {
                            "merge": { "patternProperties": { "^_": false } },
                            "patch": { "items": { "$ref": "#/definitions/guardedOperation" } },
                            "put": {
                              "properties": { "document": { "patternProperties": { "^_(?!id$)": false } } }
                            }
                          }
                        }
                      }
                    }
                  }
                },
                "tests": {
                  "items": {
                    "properties": { "slurp": false, "expect": { "properties": { "documents": false } } }
                  }
                }
              }
            },
            "mappingFile": {
              "properties": {
                "rules": {
                  "items": {
                    "properties": {
                      "on_error": false,
                      "then": {
                        "items": {
                          "properties": { "put": { "properties": { "keyspace": false, "if_exists": false } } }
                        }
                      }
                    }
                  }
                }
              }
            },
            "guardedOperation": {
              "allOf": [
                {
                  "if": { "properties": { "op": { "enum": ["add", "replace", "move", "copy"] } } },
                  "then": { "properties": { "path": { "$ref": "#/definitions/ownPointer" } } }
                },
                {
                  "if": { "properties": { "op": { "const": "move" } } },
                  "then": { "properties": { "from": { "$ref": "#/definitions/ownPointer" } } }
                },
                {
                  "if": { "properties": { "op": { "const": "remove" } } },
                  "then": {
                    "properties": {
                      "path": {
                        "anyOf": [{ "$ref": "#/definitions/ownPointer" }, { "pattern": "^/_attachments(/|$)" }]
                      }
                    }
                  }
                }
              ]
            },
            "ownPointer": {
              "oneOf": [{ "type": "string", "pattern": "^/(?!_)" }, { "$ref": "#/definitions/computed" }]
            }
        """#
}
