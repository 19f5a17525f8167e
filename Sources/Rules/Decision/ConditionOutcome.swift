internal import JQ
internal import LosslessJSON

/// The result of a rule's `if:` for a document.
enum ConditionOutcome {
    case holds
    case fails
    case failed(String, isTemporary: Bool)

    /// As in jq: everything but false and null is true. No output is false.
    init(_ outcome: JQOutcome) {
        switch outcome {
        case .failed(let error): self = .failed("if: \(error)", isTemporary: error.isTemporary)
        case .outputs(let outputs) where outputs.count > 1:
            self = .failed("if: the program gives \(outputs.count) values, not one", isTemporary: false)
        case .outputs(let outputs):
            switch outputs.first?.root.kind {
            case nil, .null, .false: self = .fails
            default: self = .holds
            }
        }
    }
}
