internal import Encodings
package import LosslessJSON

/// What a mapping made of one document.
package struct MappingResult: Sendable {
    /// What to write, in this order. Empty if the document was dropped, or there is a fault.
    package let documents: [MappedDocument]
    /// The names of the rules that fired.
    package let fired: [String]
    /// Why there is nothing to write: the document is to be rejected.
    package let fault: Decision.Fault?
}

/// Maps documents. One for each task: what it writes to is its own.
package final class Mapper {
    private let decider: Decider
    private let names: [String]
    private var recentPuts = RecentPuts()

    init(_ mapping: Mapping) {
        decider = mapping.ruleSet.makeDecider()
        names = mapping.ruleSet.names
    }

    /// One result for each document, in their order.
    ///
    /// What the documents want of jq is asked in one round trip for all of them. A document that is put again as it was
    /// put shortly before is not given again: thousands of tasks may each put their list.
    ///
    /// - Parameter now: What programs know as `$now`, in seconds since 1970.
    package func map(_ documents: [JSONText], now: Int) async -> [MappingResult] {
        let inputs = documents.map { DecisionInput($0, isDeleted: $0.root["_deleted"]?.bool == true) }
        return await decider.decide(on: inputs, now: now).map(result)
    }

    /// The same for documents that were not yet looked at. One that is no JSON object is a fault.
    package func map(_ documents: [[UInt8]], now: Int) async -> [MappingResult] {
        let texts = documents.map(Self.document)
        var mapped = await map(texts.compactMap { try? $0.get() }, now: now)[...]
        return texts.map { text in
            switch text {
            case .success: mapped.popFirst() ?? Self.rejected(Decision.Fault(rule: nil, reason: "it was not mapped"))
            case .failure(let fault): Self.rejected(fault)
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
            documents: kept.map(\.element), fired: decision.fired.map { names[$0] }, fault: decision.fault)
    }

    private static func document(_ bytes: [UInt8]) -> Result<JSONText, Decision.Fault> {
        do throws(JSONFault) {
            let text = try JSONText(bytes)
            if text.root.kind == .object { return .success(text) }
        } catch { return .failure(Decision.Fault(rule: nil, reason: "not JSON: \(error)")) }
        return .failure(Decision.Fault(rule: nil, reason: "a document must be an object"))
    }

    private static func rejected(_ fault: Decision.Fault) -> MappingResult {
        MappingResult(documents: [], fired: [], fault: fault)
    }
}

/// The last documents that were put, by id: bounded, however many there are and however long their ids.
struct RecentPuts {
    private static let limit = 4096

    private typealias Hash = [UInt8]

    /// Of documents, by those of their ids.
    private var documents: [Hash: Hash] = [:]
    /// Those of the ids, in a ring.
    private var ids: [Hash] = []
    private var next = 0

    /// Whether the document is another one than was put last under its id.
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

    /// What was put under this id is not what is there any more.
    mutating func forget(_ id: String) {
        guard !documents.isEmpty else { return }
        let id = Self.hash(of: id)
        if documents[id] != nil { documents[id] = [] }
    }

    private static func hash(of id: String) -> Hash { Digest.sha256(Array(id.utf8)) }
}
