internal import JQ
internal import LosslessJSON

/// What a rule's `if:` says of a document.
enum ConditionOutcome {
    case holds
    case fails
    case failed(String, isPassing: Bool)

    /// As jq has it: everything but false and null is true. Nothing at all is false.
    init(_ outcome: JQOutcome) {
        switch outcome {
        case .failed(let fault): self = .failed("if: \(fault)", isPassing: fault.isPassing)
        case .outputs(let outputs) where outputs.count > 1:
            self = .failed("if: the program gives \(outputs.count) values, not one", isPassing: false)
        case .outputs(let outputs):
            switch outputs.first?.root.kind {
            case nil, .null, .false: self = .fails
            default: self = .holds
            }
        }
    }
}
