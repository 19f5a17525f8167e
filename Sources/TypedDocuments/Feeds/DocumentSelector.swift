internal import LosslessJSON
internal import Rules

/// Selects documents by a Mango selector, such as `{"type": "task", "complete": false}`.
///
/// - Note: Source: "Selector Syntax" in CouchDB's reference. It is evaluated here exactly as CouchDB does.
public struct DocumentSelector: Sendable {
    /// The selector as JSON.
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

/// Why a text is not a selector.
public struct DocumentSelectorError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Line and column, the cause, and the remedy.
    public let description: String
}

extension DocumentSelector: ExpressibleByStringLiteral {
    /// For selectors in source code: an invalid selector is a programming error and traps.
    public init(stringLiteral json: String) {
        do { try self.init(json: json) } catch { preconditionFailure("\(error)") }
    }
}
