internal import Encodings
package import LosslessJSON

/// The result of mapping one document.
package struct MappingResult: Sendable {
    /// The documents to write, in order. Empty if the document was dropped, or there is an error.
    package let documents: [MappedDocument]
    /// The names of the rules that fired.
    package let fired: [String]
    /// Why the document must be rejected. Nil if it is valid.
    package let error: DecisionError?
}

/// Maps documents. One per task: an instance has mutable state.
package final class Mapper {
    private let decider: Decider
    private let names: [String]
    private var recentPuts = RecentPuts()

    init(_ mapping: Mapping) {
        decider = mapping.ruleSet.makeDecider()
        names = mapping.ruleSet.names
    }

    /// Maps each document, in order.
    ///
    /// All documents share their round trips to jq. A document that was recently `put` unchanged is omitted: thousands
    /// of tasks may each `put` their list.
    ///
    /// - Parameter now: The programs' `$now`, in seconds since 1970.
    package func map(_ documents: [JSONText], now: Int) async -> [MappingResult] {
        let inputs = documents.map { DecisionInput($0, isDeleted: $0.root["_deleted"]?.bool == true) }
        return await decider.decide(on: inputs, now: now).map(result)
    }

    /// Like the mapping of checked documents, for unchecked bytes. A document that is not a JSON object is an error.
    package func map(_ documents: [[UInt8]], now: Int) async -> [MappingResult] {
        let texts = documents.map(Self.document)
        var mapped = await map(texts.compactMap { try? $0.get() }, now: now)[...]
        return texts.map { text in
            switch text {
            case .success: mapped.popFirst() ?? Self.rejected(DecisionError(rule: nil, reason: "it was not mapped"))
            case .failure(let error): Self.rejected(error)
            }
        }
    }

    private func result(_ decision: Decision) -> MappingResult {
        let kept = decision.mapped.enumerated().filter { index, output in
            guard index < decision.puts.count else {
                recentPuts.forget(output.id)
                return true
            }
            return recentPuts.isNew(output)
        }
        return MappingResult(
            documents: kept.map(\.element), fired: decision.fired.map { names[$0] }, error: decision.error)
    }

    private static func document(_ bytes: [UInt8]) -> Result<JSONText, DecisionError> {
        do throws(JSONError) {
            let text = try JSONText(bytes)
            if text.root.kind == .object { return .success(text) }
        } catch { return .failure(DecisionError(rule: nil, reason: "not JSON: \(error)")) }
        return .failure(DecisionError(rule: nil, reason: "a document must be an object"))
    }

    private static func rejected(_ error: DecisionError) -> MappingResult {
        MappingResult(documents: [], fired: [], error: error)
    }
}

/// Recently `put` documents, by id. Memory is bounded, regardless of the number of documents and the length of their
/// ids.
struct RecentPuts {
    private static let limit = 4096

    private typealias Hash = [UInt8]

    /// Hashes of documents, by the hashes of their ids.
    private var documents: [Hash: Hash] = [:]
    /// The hashes of ids, in a ring buffer.
    private var ids: [Hash] = []
    private var next = 0

    /// Whether the document differs from the last one that was `put` under its id.
    mutating func isNew(_ output: MappedDocument) -> Bool {
        let id = Self.hash(of: output.id)
        let document = Digest.sha256(output.document.bytes)
        let known = documents.updateValue(document, forKey: id)
        guard known == nil else { return known != document }
        if ids.count < Self.limit {
            ids.append(id)
        } else {
            documents[ids[next]] = nil
            ids[next] = id
            next = (next + 1) % Self.limit
        }
        return true
    }

    /// Records that the document with this id may have changed since it was `put`.
    mutating func forget(_ id: String) {
        guard !documents.isEmpty else { return }
        let id = Self.hash(of: id)
        if documents[id] != nil { documents[id] = [] }
    }

    private static func hash(of id: String) -> Hash { Digest.sha256(Array(id.utf8)) }
}
