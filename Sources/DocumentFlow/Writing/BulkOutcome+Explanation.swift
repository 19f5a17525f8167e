package import GatewayClient

extension BulkOutcome {
    /// Why a document was not written, for people.
    package var explanation: String {
        switch self {
        case .written: "it was written"
        case .conflict: "other writers keep changing it"
        case .rejected(status: 0, let reason): "the gateway gave no proper answer for it: \(reason)"
        case .rejected(let status, let reason): "the gateway refused it (\(status)): \(reason)"
        case .failed(let reason): "the gateway failed to write it: \(reason)"
        case .undecided(let reason): "the gateway did not decide it: \(reason)"
        case .unmentioned: "the gateway's answer does not mention it"
        }
    }
}
