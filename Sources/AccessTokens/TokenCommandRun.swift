internal import CHelperProcess
internal import Dispatch
internal import Encodings
internal import Glibc
internal import LosslessJSON

/// Runs a command that prints a token: the token alone, or JSON.
struct TokenCommandRun: Sendable {
    private let command: TokenCommand
    /// In seconds since 1970.
    private let now: @Sendable () -> Int
    private let deadline: Duration

    init(
        _ command: TokenCommand, deadline: Duration = TokenFetch.deadline,
        now: @escaping @Sendable () -> Int = { Timestamp.secondsNow }
    ) {
        (self.command, self.deadline, self.now) = (command, deadline, now)
    }

    /// - Throws: ``TokenError``.
    func answer() async throws(TokenError) -> TokenAnswer {
        // Waiting for a process blocks a thread, so it must not be one of those that all tasks share.
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(TokenError) in try output() })
            }
        }
        return try answer(in: try result.get())
    }

    // MARK: - The output

    /// - Throws: ``TokenError`` with `.malformed` if the output is neither a token nor JSON with one.
    func answer(in output: [UInt8]) throws(TokenError) -> TokenAnswer {
        guard let text = String(validating: output, as: UTF8.self) else { throw malformed("is not UTF-8") }
        let lines = text.split(whereSeparator: \.isNewline).filter { $0.contains { !$0.isWhitespace } }
        guard let first = lines.first else { throw malformed("prints nothing") }
        if first.drop(while: \.isWhitespace).hasPrefix("{") { return try answer(inJSON: output) }
        let token = String(first.split(whereSeparator: \.isWhitespace).joined(separator: " "))
        guard lines.count == 1, TokenText.isValid(token) else {
            throw malformed("prints more than one word, or characters that no token has")
        }
        return TokenAnswer(text: token, lifetime: nil)
    }

    /// - Note: Source: Kubernetes, `client.authentication.k8s.io/v1`, `ExecCredential`; the names of other programs'
    ///   members: RFC 6749, Azure CLI, IBM Cloud CLI.
    private func answer(inJSON output: [UInt8]) throws(TokenError) -> TokenAnswer {
        guard let json = SmallJSON(output) else { throw malformed("prints JSON that is not valid") }
        let isExecCredential = json["kind"]?.string == "ExecCredential"
        let object = isExecCredential ? json["status"] ?? .null : json
        let token = ["token", "access_token", "accessToken"].lazy.compactMap { object[$0]?.string }.first
        guard let token, TokenText.isValid(token) else {
            if isExecCredential, object["clientCertificateData"] != nil {
                throw malformed(
                    "prints a certificate; write certificate_file and key_file instead, or let it print a token")
            }
            throw malformed("prints JSON without a usable 'token' or 'access_token'")
        }
        return TokenAnswer(text: token, lifetime: lifetime(object))
    }

    /// How long the token is valid from now on. Nil: unknown.
    private func lifetime(_ object: SmallJSON) -> Duration? {
        if let seconds = object["expires_in"]?.seconds { return TokenText.lifetime(seconds) }
        for name in ["expirationTimestamp", "expires_at", "expiry", "expires_on", "expiration"] {
            guard let value = object[name] else { continue }
            let end = value.seconds ?? value.string.flatMap { try? ISODate($0) }.map { Double($0.seconds) }
            // A token that seems to have ended is tried: the clocks of two machines may differ.
            if let end { return TokenText.lifetime(max(1, end - Double(now()))) }
        }
        return nil
    }

    private func malformed(_ what: String) -> TokenError {
        TokenError(
            .malformed,
            "the token command \(command.place) \(what); it must print the token alone, or JSON such as {\"token\":\"…\","
                + "\"expires_in\":600} or an ExecCredential")
    }

    // MARK: - The process

    /// What the command prints. Blocks until it has ended.
    private func output() throws(TokenError) -> [UInt8] {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw notStarted(errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let process: pid_t
        do throws(TokenError) { process = try spawn(ends[1]) } catch {
            close(ends[1])
            throw error
        }
        close(ends[1])
        let (output, isComplete) = read(ends[0])
        // Also what the command has started.
        if !isComplete { kill(-process, SIGKILL) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard isComplete else {
            throw TokenError(
                .unavailable,
                "the token command \(command.place) does not end within \(deadline.components.seconds) s, or prints too "
                    + "much; run it by hand as this user to see why")
        }
        guard status == 0 else {
            let isExit = status & 0x7F == 0
            let how = isExit ? "fails with exit code \(status >> 8 & 0xFF)" : "is ended by signal \(status & 0x7F)"
            throw TokenError(
                .unavailable, "the token command \(command.place) \(how); run it by hand as this user to see why")
        }
        return output
    }

    private func spawn(_ output: Int32) throws(TokenError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        // Messages of other programs may contain secrets.
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        posix_spawnattr_setpgroup(&attributes, 0)
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        var arguments = (command.words.map { strdup($0) }) + [nil]
        var variables = Self.environment().map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var process: pid_t = 0
        let result = posix_spawnp(&process, command.words[0], &actions, &attributes, &arguments, &variables)
        guard result == 0 else { throw notStarted(result) }
        return process
    }

    private func notStarted(_ code: Int32) -> TokenError {
        TokenError(
            .unavailable,
            "the token command \(command.place) can't be started: \(String(cString: strerror(code))); correct its path or "
                + "its permissions")
    }

    /// The environment without the bot's own settings, which may be secrets. Tells programs for `kubectl` which form to
    /// print.
    private static func environment() -> [String] {
        var variables: [String] = []
        var next = environ
        while let text = next.pointee {
            variables.append(String(cString: text))
            next = next.advanced(by: 1)
        }
        let name = "KUBERNETES_EXEC_INFO="
        let information =
            #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}}"#
        return variables.filter { !$0.hasPrefix("CHANGEBOT_") && !$0.hasPrefix(name) } + [name + information]
    }

    /// - Returns: What was read, and whether that is all. Not if it is too much, or the deadline has passed.
    private func read(_ descriptor: Int32) -> (output: [UInt8], isComplete: Bool) {
        let end = ContinuousClock.now + deadline
        var output: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while output.count <= TokenFetch.lengthLimit {
            let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
            guard left > 0 else { return (output, false) }
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = poll(&ready, 1, Int32(left.rounded(.up)))
            if count < 0, errno != EINTR { return (output, false) }
            guard count > 0 else { continue }
            let length = Glibc.read(descriptor, &part, part.count)
            if length < 0, errno == EINTR { continue }
            guard length > 0 else { return (output, length == 0) }
            output += part[..<length]
        }
        return (output, false)
    }
}
