/// The rule that counts, and what it means.
extension Scenario {
    static let kinds = ["a", "b"]

    static let totalRules = """
          - name: totals
            when: { type: { $in: [task, alarm] }, kind: { $type: string } }
            then:
              - aggregate:
                  into: { jq: '"total." + .kind' }
                  document: { type: total }
                  count: { tasks: true, stamped: { stamped: true } }
                  sum: { n: { jq: .n } }
        """

    /// The members that the bot sets, in the order of the rule.
    static let totalMembers = ["tasks", "stamped", "n"]

    static func isTotal(_ id: String) -> Bool { id.hasPrefix("total.") }

    /// A full count: the members of each total, by its id.
    static func totals(_ gateway: SimulatedGateway) -> [String: [Int]] {
        var totals: [String: [Int]] = [:]
        for kind in kinds { totals["total.\(kind)"] = [0, 0, 0] }
        for id in gateway.ids {
            guard let body = gateway.documents[id]?.body, let total = total(of: body),
                let number = body["n"].flatMap({ Int($0) })
            else { continue }
            totals[total]?[0] += 1
            totals[total]?[1] += body["stamped"] == "true" ? 1 : 0
            totals[total]?[2] += number
        }
        return totals
    }

    /// The documents that a total counts, with their revisions.
    static func contributors(to total: String, _ gateway: SimulatedGateway) -> [String] {
        gateway.ids.filter { gateway.documents[$0]?.body.flatMap(self.total) == total }
            .map { "\($0) \(gateway.documents[$0]?.winner?.id.short ?? "")" }
    }

    /// The total to which a document adds.
    private static func total(of body: DocumentBody) -> String? {
        guard [#""task""#, #""alarm""#].contains(body["type"]), let kind = body["kind"] else { return nil }
        return "total.\(kind.dropFirst().dropLast())"
    }
}
