internal import BotState
internal import Bots
internal import DocumentFlow
internal import EmbeddedGateway
internal import FoundationEssentials
internal import GatewayClient
internal import Glibc
internal import HTTPServing
internal import Logging
internal import Revisions
internal import Rules
internal import Transfer

/// The exit codes. The article Commands has the same table.
enum ExitStatus: Int32, CaseIterable {
    case done = 0
    /// The whole input was processed, but some documents were rejected or dead-lettered. Or `doctor` has found errors.
    case incomplete = 1
    case usage = 64
    case invalidData = 65
    case missingInput = 66
    case unreachable = 69
    case bug = 70
    case cannotCreate = 73
    case cannotWrite = 74
    case temporaryFailure = 75
    case notAGateway = 76
    case notAllowed = 77
    case badConfiguration = 78

    func exit() -> Never { Glibc.exit(rawValue) }
}

/// Why a command fails: the messages and the exit code.
struct CommandError: Error, CustomStringConvertible {
    let code: ExitStatus
    /// One line each. Empty if the error was already reported.
    let messages: [String]
    /// Whether each message begins with a place in a file, in a form that editors recognise.
    let isListing: Bool

    init(_ code: ExitStatus, _ message: String? = nil, isListing: Bool = false) {
        self.code = code
        messages = message.map { [$0] } ?? []
        self.isListing = isListing
    }

    init(_ code: ExitStatus, listing messages: [String], isListing: Bool = true) {
        self.code = code
        self.messages = messages
        self.isListing = isListing
    }

    var description: String { messages.isEmpty ? "exit code \(code.rawValue)" : messages.joined(separator: "\n") }

    /// Reports the error on stderr.
    func report() {
        for message in messages {
            if isListing {
                Console.complain(message, LogLine(.error, message, exit: code))
            } else {
                Console.error(message, exit: code)
            }
        }
    }

    /// Converts any error that a command may meet.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandError: self = failure
        case let failure as RunError: self.init(ExitStatus(failure.code), failure.description)
        case let error as StateError: self.init(ExitStatus(error), error.description)
        case let error as RuleFilesError:
            // Editors can't open options.
            let areOptions = error.errors.allSatisfy { $0.path.hasPrefix("--") }
            self.init(ExitStatus(error.kind), listing: error.errors.map(\.description), isListing: !areOptions)
        case let error as GatewayURLError: self.init(.usage, error.description)
        case let error as EmbeddedGatewayError:
            self.init(ExitStatus(error.code), error.description)
        case let error as ListenError: self.init(.unreachable, error.description)
        case let error as TransferError: self.init(error)
        case let error as DatabaseFailures:
            // If none could be used, the reason is probably the same for all.
            let first = error.failures.first.map { CommandError($0.error).code } ?? .incomplete
            self.init(error.isComplete ? first : .incomplete, error.description)
        case let error as GatewayError: self.init(.unreachable, error.description)
        default: self.init(.bug, "unexpected: \(error); this is a bug, please report it")
        }
    }
}

extension ExitStatus {
    fileprivate init(_ code: RunError.Code) {
        switch code {
        case .unreachable: self = .unreachable
        case .notAllowed: self = .notAllowed
        case .databaseMissing: self = .missingInput
        case .notAGateway: self = .notAGateway
        case .gaveUp, .outOfResources: self = .temporaryFailure
        case .tooManyErrors: self = .invalidData
        case .sequenceRefused, .databaseReset, .badConfiguration: self = .badConfiguration
        case .cannotCreate: self = .cannotCreate
        case .cannotWrite: self = .cannotWrite
        }
    }

    fileprivate init(_ code: EmbeddedGatewayError.Code) {
        switch code {
        case .invalidName: self = .usage
        case .foreignFile: self = .missingInput
        case .fileInUse: self = .temporaryFailure
        case .cannotOpenFile: self = .cannotCreate
        default: self = .unreachable
        }
    }

    fileprivate init(_ kind: RuleFilesError.Kind) {
        switch kind {
        case .missing: self = .missingInput
        case .usage: self = .usage
        case .invalid: self = .invalidData
        }
    }

    fileprivate init(_ error: StateError) {
        switch error {
        case .locked: self = .temporaryFailure
        case .missing: self = .missingInput
        case .ambiguous: self = .usage
        case .foreign, .unreadable, .engineRefused: self = .badConfiguration
        case .fenced: self = .temporaryFailure
        case .engineUnavailable: self = .unreachable
        case .cannotCreate: self = .cannotCreate
        case .cannotWrite: self = .cannotWrite
        }
    }
}
