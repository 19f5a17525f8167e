internal import LosslessJSON
internal import RuleEditing

extension ServerSession {
    mutating func initialize(_ id: [UInt8], _ params: JSONValue?) -> [UInt8] {
        phase = .ready
        let capabilities = params?["capabilities"]
        let units = capabilities?["general"]?["positionEncodings"].map { $0.elements.compactMap(\.string) } ?? []
        // The editor lists those that it prefers first.
        columns = units.first { $0 == "utf-8" || $0 == "utf-16" } == "utf-8" ? .utf8 : .utf16
        let features = capabilities?["textDocument"]
        acceptsSnippets = features?["completion"]?["completionItem"]?["snippetSupport"]?.bool == true
        acceptsActions = features?["codeAction"]?["codeActionLiteralSupport"] != nil
        return ServerMessage.result(id) { writer in
            writer.object { writer in
                writer.name("capabilities")
                writer.object(writeCapabilities)
                writer.name("serverInfo")
                writer.object { writer in
                    writer.member("name", string: "changebot")
                    writer.member("version", string: version)
                }
            }
        }
    }

    private func writeCapabilities(_ writer: inout JSONWriter) {
        writer.member("positionEncoding", string: columns == .utf8 ? "utf-8" : "utf-16")
        writer.name("textDocumentSync")
        writer.object { writer in
            writer.member("openClose", bool: true)
            // Incremental.
            writer.member("change", integer: 2)
            writer.member("save", bool: true)
        }
        writer.member("hoverProvider", bool: true)
        writer.member("definitionProvider", bool: true)
        writer.name("completionProvider")
        writer.object { writer in
            writer.name("triggerCharacters")
            writer.array { writer in for character in ["$", "/", " "] { writer.string(character) } }
        }
        writer.name("codeLensProvider")
        writer.object { _ in }
        writer.name("codeActionProvider")
        writer.object { writer in
            writer.name("codeActionKinds")
            writer.array { $0.string("quickfix") }
        }
        writer.name("executeCommandProvider")
        writer.object { writer in
            writer.name("commands")
            writer.array { $0.string(Self.runTest) }
        }
    }
}
