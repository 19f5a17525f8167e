internal import GatewayClient
internal import LosslessJSON

extension SimulatedGateway {
    /// `GET _all_docs`: the live documents in the order of their ids.
    func list(_ request: GatewayMessage) throws -> GatewayAnswer {
        let known: Set = ["include_docs", "limit", "startkey"]
        guard request.query.keys.allSatisfy(known.contains) else { throw UnknownRequest(summary: request.summary) }
        let start = request.query["startkey"].flatMap { (try? JSONText($0))?.root.string } ?? ""
        let limit = request.query["limit"].flatMap { Int($0) } ?? .max
        let includesDocuments = request.query["include_docs"] == "true"
        let live = ids.filter { $0 >= start && documents[$0]?.body != nil }.sorted().prefix(limit)
        let rows = live.compactMap { id -> String? in
            guard let winner = documents[id]?.winner else { return nil }
            let body = includesDocuments ? #","doc":\#(text(of: winner, id))"# : ""
            return #"{"id":"\#(id)","key":"\#(id)","value":{"rev":"\#(winner.id)"}\#(body)}"#
        }
        let summary = "\(rows.count) documents"
        return dialect == .couchDB
            ? GatewayAnswer(
                "{\"total_rows\":\(ids.count),\"offset\":0,\"rows\":[\n\(rows.joined(separator: ",\n"))\n]}\n",
                summary: summary)
            : GatewayAnswer(
                "{\"rows\":[\n\(rows.joined(separator: "\n,"))\n],\n\"total_rows\":\(rows.count),\"update_seq\":\(content.newest[0])}\n",
                summary: summary)
    }
}
