/// Requests and trouble in plain English.
extension GatewayMessage {
    /// Follows the name of the bot: `reads doc-1`.
    var plain: String {
        switch (method, path) {
        case ("GET", "/"): "asks which server this is"
        case ("GET", ""): "asks about the database"
        case ("GET", "_changes"):
            "\(query["feed"] == "longpoll" ? "waits for" : "reads") changes after \(query["since"] ?? "0")"
        case ("POST", "_all_docs"): "looks up documents"
        case ("GET", "_all_docs"): "lists documents"
        case ("POST", "_bulk_get"): "reads revisions"
        case ("POST", "_bulk_docs"): "writes documents"
        case ("GET", let path) where path.hasPrefix("_local/"): "reads its mark"
        case ("PUT", let path) where path.hasPrefix("_local/"): "writes its mark"
        case ("GET", let path): "reads \(path)\(query["rev"].map { " " + $0.short } ?? "")"
        case ("PUT", let path): "writes \(path)"
        case ("DELETE", let path): "deletes \(path)"
        default: "sends \(method) \(path)"
        }
    }
}

extension GatewayAnswer {
    /// Follows the request.
    var plain: String {
        let detail = summary.isEmpty ? "" : ": \(summary)"
        return status < 300 ? detail : "\(detail): refused with \(status)"
    }
}

extension FaultKind {
    /// What the network or the gateway does to a request.
    var plain: String {
        switch self {
        case .refusedConnection: "refuses the connection"
        case .unavailable: "has no time: 503"
        case .lostRequest: "loses the request"
        case .lostAnswer: "will lose the answer"
        case .cutAnswer: "will cut the answer off"
        case .lateAnswer: "will delay the answer"
        case .silence: "will never answer"
        case .doubledRequest: "repeats the request"
        case .outage, .serverOutage: "is unavailable"
        case .lateNode: "chooses a node that sees writes late"
        case .reorderedAnswer: "will delay the answer until after another one"
        default: rawValue
        }
    }
}
