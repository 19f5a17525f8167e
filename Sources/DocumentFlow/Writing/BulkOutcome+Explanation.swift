package import GatewayClient

extension BulkOutcome {
    /// Why a document was not written, for people.
    package var explanation: String {
        switch self {
        case .written: "it was written"
        case .conflict: "somebody else writes it all the time"
        case .rejected(status: 0, let reason): "the gateway gives no proper answer to it: \(reason)"
        case .rejected(let status, let reason): "the gateway refuses it (\(status)): \(reason)"
        case .failed(let reason): "the gateway fails over it: \(reason)"
        case .undecided(let reason): "the gateway does not decide: \(reason)"
        case .unmentioned: "the gateway does not answer for it"
        }
    }
}
