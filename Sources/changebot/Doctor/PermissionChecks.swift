internal import GatewayClient
internal import Rules

/// Judges the gateway's responses to this login. Does no I/O.
enum PermissionChecks {
    /// - Parameters:
    ///   - who: The description of the `GatewayCredentials`; nil without credentials.
    ///   - advice: What to do if credentials are needed but missing.
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
                otherwise: "allow this user to GET _changes; without that, no command works")
        }
    }

    static func list(_ answer: Result<Void, GatewayError>) -> Finding {
        switch answer {
        case .success: .ok("this user may list documents (_all_docs)")
        case .failure(let error) where error.code == .notOffered:
            Finding(
                .warning, error, "'fix' and 'export' have to read the whole feed instead, which takes longer",
                otherwise: "if there are many documents, use the admin port or log in as an administrator")
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
                otherwise: "give this user write permission, or use another user")
        case .failure(let error) where error.code == .badRequest:
            return Finding(
                .unknown, error, "can't check whether this user may write, because that would write a document",
                otherwise: "run the rules on a test document")
        case .failure(let error): return Finding(.error, error, "the gateway currently accepts no writes")
        }
    }

    /// What happened to the check's local document.
    enum LocalOutcome: Sendable {
        case keptAndDeleted
        /// It was written but could not be deleted.
        case left(GatewayError)
        case refused(GatewayError)
    }

    static func local(_ outcome: LocalOutcome, named name: String) -> Finding {
        switch outcome {
        case .keptAndDeleted: .ok("this user may write local documents: one was written, read and deleted")
        case .left(let error):
            Finding(
                .warning, Finding(.warning, error, "_local/\(name) was written, but could not be deleted").text,
                remedy: "delete it yourself; it is harmless, and not in the feed")
        case .refused(let error) where [.notOffered, .unauthorized, .forbidden].contains(error.code):
            Finding(
                .warning,
                Finding(
                    .warning, error,
                    "this user may not write local documents, so the bot can't notice that the database was reset"
                ).text,
                remedy:
                    "allow this user to GET and PUT _local/ documents, in proxies and in the gateway; until then, back up the state folder: there is no copy of the checkpoint"
            )
        case .refused(let error): Finding(.error, error, "local documents can't be written")
        }
    }

    /// - Parameters:
    ///   - isAdmin: Whether the URL is the admin port, which sees everything.
    ///   - wanted: The channels of `--channels`; nil: all.
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
                "this user may not read these channels of --channels: \(AbbreviatedList.text(missing)); the feed leaves them out without an error",
                remedy: "give the user access to them, or correct --channels")
        }
        let own = channels.filter { $0 != "!" }
        guard !own.isEmpty else {
            return Finding(
                .warning, "this user is in no channel, and sees only documents that are public (channel \"!\")",
                remedy: "give the user channels: admin_channels, a role, or access() in the sync function")
        }
        return .ok("this user may read \(Quantity.count(own.count, "channel")): \(AbbreviatedList.text(own))")
    }
}
