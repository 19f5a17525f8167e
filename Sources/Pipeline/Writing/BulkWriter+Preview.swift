internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// What a dry run would have `put` so far, so that later documents are decided as if it had been written.
struct PreviewedPuts {
    /// Bytes of documents that are remembered. Beyond that, a document that is `put` twice may be counted twice.
    private static let byteLimit = 8 << 20

    private var documents: [DocumentPlace: JSONText] = [:]
    private var bytes = 0
    /// Documents of the followed keyspace that were submitted as they would be after the `put`.
    private(set) var released: Set<DocumentID> = []

    subscript(place: DocumentPlace) -> JSONText? { documents[place] }

    mutating func note(_ place: DocumentPlace, _ document: JSONText) {
        guard bytes < Self.byteLimit else { return }
        bytes += document.bytes.count
        documents[place] = document
    }

    mutating func release(_ id: DocumentID) { released.insert(id) }
}

// A dry run: decides everything and writes nothing.
extension BulkWriter {
    /// Shows what would be done, in the order of the candidates.
    ///
    /// - Returns: Documents that would have been `put` and on which rules may fire.
    func show(
        _ plans: [Planner.Plan], to preview: Preview, _ context: inout WriterContext
    ) async throws -> [Candidate] {
        let orders = try await orders(of: plans)
        let lookups = try await context.others.lookUp(orders)
        var settled = Settlement()
        var again: [Candidate] = []
        // A batch writes each document once, whatever it wants of it.
        var places: Set<DocumentPlace> = []
        for (index, plan) in plans.enumerated() {
            let home = DocumentPlace(keyspace: nil, id: plan.candidate.id)
            if context.previewed.released.contains(plan.candidate.id), plan.candidate.chain == nil {
                // Already decided, as it would be after the `put`.
                settled.passedOver.append(plan.candidate)
                continue
            }
            if let error = plan.decision.error {
                settled.deadLetter(
                    plan.candidate, plan.candidate.deadLetter(rule: error.rule, reason: error.reason))
                try await preview.show(plan.report)
                continue
            }
            var puts: [PutOrder] = []
            for order in orders where order.plan == index {
                guard let document = context.previewed.put(order, lookups[order.place]) else { continue }
                puts.append(order)
                if let candidate = candidate(order, document, context.planner) {
                    again.append(candidate)
                    context.previewed.release(candidate.id)
                }
            }
            guard plan.decision.isChanged || !puts.isEmpty else {
                end(plan, &settled)
                continue
            }
            if let order = puts.first(where: \.chain.isTooLong) {
                settled.deadLetter(plan.candidate, plan.candidate.deadLetter(reason: order.chain.reason))
                continue
            }
            if plan.decision.isChanged, context.mayPut { context.previewed.note(home, plan.decision.document) }
            try await preview.show(plan.report)
            settled.shown += puts.count { places.insert($0.place).inserted } + (plan.decision.isChanged ? 1 : 0)
            if plan.decision.isDeletion { settled.shownDeletions += 1 }
            settled.end(plan.candidate, isWrite: false)
        }
        try await finish(settled)
        await shared.budget.take(bytes: again.reduce(0) { $0 + $1.cost }, documents: again.count)
        return again
    }

    private func candidate(_ order: PutOrder, _ document: JSONText, _ planner: Planner) -> Candidate? {
        guard settings.decidesPuts, order.place.keyspace == nil, !order.chain.isTooLong,
            planner.decider.mayFire(on: document.root, isDeleted: false)
        else { return nil }
        var candidate = Candidate(id: order.place.id, revision: nil, document: document.bytes)
        candidate.chain = order.chain
        return candidate
    }
}

extension PreviewedPuts {
    /// The document as it would be written; nil if it needs no change.
    mutating func put(_ order: PutOrder, _ lookup: DocumentLookup?) -> JSONText? {
        let current = self[order.place].map { DocumentLookup.found(RevisionID(""), $0) } ?? lookup ?? .missing
        guard let document = try? PutTarget.write(order.effect, over: current) else { return nil }
        note(order.place, document)
        return document
    }
}

extension OtherDocuments {
    /// The plans that would change another document, given the documents as they are now. Writes nothing.
    mutating func wanted(_ orders: [PutOrder]) async throws -> Set<Int> {
        let lookups = try await lookUp(orders)
        return orders.reduce(into: []) { plans, order in
            guard let lookup = lookups[order.place] else { return }
            // An impossible one must be reported.
            do { if try PutTarget.write(order.effect, over: lookup) != nil { plans.insert(order.plan) } } catch {
                plans.insert(order.plan)
            }
        }
    }

    /// The wanted documents as they are now.
    mutating func lookUp(_ orders: [PutOrder]) async throws -> [DocumentPlace: DocumentLookup] {
        var lookups: [DocumentPlace: DocumentLookup] = [:]
        for (keyspace, targets) in Dictionary(grouping: PutTarget.targets(of: orders), by: \.place.keyspace) {
            for group in targets.grouped(count: limits.documents, bytes: limits.bytes, size: \.byteCount) {
                let found = try await lookUp(group.map(\.place.id), in: keyspace)
                for (target, lookup) in zip(group, found) { lookups[target.place] = lookup }
            }
        }
        return lookups
    }
}
