internal import LosslessJSON
internal import Rules

/// Says which documents are wanted: a Mango selector, such as `{"type": "task", "complete": false}`.
///
/// - Note: Source: "Selector Syntax" in CouchDB's reference. It is evaluated here exactly as CouchDB does.
public struct DocumentSelector: Sendable {
    /// As JSON.
    public let json: String
    let filter: DocumentFilter

    /// Every document.
    public static let all: DocumentSelector = "{}"

    /// - Parameter json: The selector as JSON; `{}` matches every document.
    /// - Throws: ``DocumentSelectorError`` with the place and the remedy.
    public init(json: String) throws(DocumentSelectorError) {
        do throws(RuleFilesError) { filter = try DocumentFilter(json, name: "selector") } catch {
            throw DocumentSelectorError(description: "\(error)")
        }
        self.json = json
    }
}

/// Why a text is no selector.
public struct DocumentSelectorError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Line and column, what is wrong, and what to write.
    public let description: String
}

extension DocumentSelector: ExpressibleByStringLiteral {
    /// For selectors in source code: a text that is no selector is a programmer's error and traps.
    public init(stringLiteral json: String) {
        do { try self.init(json: json) } catch { preconditionFailure("\(error)") }
    }
}
