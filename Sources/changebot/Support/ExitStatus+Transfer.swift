internal import Revisions
internal import Transfer

extension CommandError {
    init(_ error: TransferError) {
        let code: ExitStatus =
            switch error.code {
            case .usage: .usage
            case .missing: .missingInput
            case .invalid: .invalidData
            case .cannotCreate, .occupied: .cannotCreate
            case .cannotWrite: .cannotWrite
            case .locked: .temporaryFailure
            case .foreign: .badConfiguration
            }
        self.init(code, error.description)
    }
}
