internal import GatewayClient
internal import Rules

/// Judges what the gateway answers to this login. Pure.
enum PermissionChecks {
    /// - Parameters:
    ///   - who: As in `GatewayCredentials`; nil without credentials.
    ///   - advice: What to do if there are no credentials and some are needed.
    static func login(
        _ answer: Result<DatabaseInfo, GatewayError>, as who: String?, advice: String
    ) -> Finding {
        switch answer {
        case .failure(let error):
            guard error.code == .unauthorized, who == nil else { return Finding(.error, error) }
            return Finding(.error, Finding(.error, error).text, remedy: advice)
        case .success(let info) where !info.isOnline:
            return Finding(
                .error, "the database '\(info.name)' is \(info.state ?? "not online")",
                remedy: "bring it online: POST /\(info.name)/_online on the gateway's admin port")
        case .success(let info):
            return .ok("the gateway accepts \(who ?? "requests without a login"), and has the database '\(info.name)'")
        }
    }

    static func feed(_ answer: Result<Void, GatewayError>) -> Finding {
        switch answer {
        case .success: .ok("this user may read the changes feed")
        case .failure(let error):
            Finding(
                .error, error, "the changes feed can't be read",
                otherwise: "allow this user GET of _changes; without it no command works")
        }
    }

    static func list(_ answer: Result<Void, GatewayError>) -> Finding {
        switch answer {
        case .success: .ok("this user may list documents (_all_docs)")
        case .failure(let error) where error.code == .notOffered:
            Finding(
                .warning, error, "'fix' and 'export' must read the whole feed instead, which takes longer",
                otherwise: "use the admin port or an administrator, if there are many documents")
        case .failure(let error): Finding(.error, error, "documents can't be listed")
        }
    }

    static func write(_ answer: Result<Void, GatewayError>, to dialect: GatewayDialect) -> Finding {
        switch answer {
        case .success:
            let judge = dialect.hasChannels ? "the sync function" : "a validation function"
            return .ok("this user may write (_bulk_docs); \(judge) may still refuse single documents")
        case .failure(let error) where [.unauthorized, .forbidden, .notOffered].contains(error.code):
            return Finding(
                .error, error, "this user may not write",
                otherwise: "give the user the right to write, or use another user")
        case .failure(let error) where error.code == .badRequest:
            return Finding(
                .unknown, error, "whether this user may write can't be known without writing a document",
                otherwise: "run the rules on one document that you can spare")
        case .failure(let error): return Finding(.error, error, "the gateway takes no writes now")
        }
    }

    /// Where the local document of the check stands.
    enum LocalOutcome: Sendable {
        case keptAndDeleted
        /// It was written, and is still there.
        case left(GatewayError)
        case refused(GatewayError)
    }

    static func local(_ outcome: LocalOutcome, named name: String) -> Finding {
        switch outcome {
        case .keptAndDeleted: .ok("this user may keep local documents: one was written, read and deleted")
        case .left(let error):
            Finding(
                .warning, Finding(.warning, error, "_local/\(name) was written, but could not be deleted").text,
                remedy: "delete it yourself; it does no harm, and the feed does not show it")
        case .refused(let error) where [.notOffered, .unauthorized, .forbidden].contains(error.code):
            Finding(
                .warning,
                Finding(
                    .warning, error,
                    "this user may not write local documents, so the bot can't notice that the database was reset"
                ).text,
                remedy:
                    "allow this user GET and PUT of _local/ in proxies and in the gateway; until then keep the state folder safe, as there is no copy of the checkpoint"
            )
        case .refused(let error): Finding(.error, error, "local documents can't be kept")
        }
    }

    /// - Parameters:
    ///   - isAdmin: Whether the admin port answers, which sees everything.
    ///   - wanted: Those of `--channels`; nil: all.
    static func channels(
        _ answer: Result<LoginInfo, GatewayError>, of dialect: GatewayDialect, isAdmin: Bool, wanted: [String]?
    ) -> Finding {
        guard dialect.hasChannels else {
            guard wanted == nil else {
                return Finding(
                    .error, "--channels is given, but \(dialect.name) has no channels", remedy: "remove --channels")
            }
            return .skipped("\(dialect.name) has no channels")
        }
        if isAdmin { return .ok("the admin port sees all channels") }
        switch answer {
        case .failure(let error): return Finding(.unknown, error, "the channels of this user can't be read")
        case .success(let login): return channels(of: login, wanted: wanted)
        }
    }

    private static func channels(of login: LoginInfo, wanted: [String]?) -> Finding {
        guard let channels = login.channels else {
            return Finding(
                .unknown, "the gateway does not say which channels this user may read",
                remedy: "if the bot sees no documents, give the user channels; in a named collection: collection_access"
            )
        }
        guard !channels.contains("*") else { return .ok("this user may read all channels") }
        let missing = (wanted ?? []).filter { !channels.contains($0) }
        guard missing.isEmpty else {
            return Finding(
                .warning,
                "this user may not read these channels of --channels: \(ShortList.text(missing)); the feed leaves them out without an error",
                remedy: "give the user access to them, or correct --channels")
        }
        let own = channels.filter { $0 != "!" }
        guard !own.isEmpty else {
            return Finding(
                .warning, "this user is in no channel, and sees only documents that are public (channel \"!\")",
                remedy: "give the user channels: admin_channels, a role, or access() in the sync function")
        }
        return .ok("this user may read \(Quantity.count(own.count, "channel")): \(ShortList.text(own))")
    }
}
