internal import ArgumentParser
internal import BotState
internal import PostgreSQL

/// The state that several machines share.
extension StateOptions {
    /// The value of `--fleet`; nil without an engine, or if it is not given.
    ///
    /// - Throws: ``CommandError`` with 64, or 78 in a file.
    func fleetName(_ environment: Environment) throws(CommandError) -> String? {
        guard let fleet = fleet ?? environment["fleet"] else { return nil }
        guard engine ?? environment["engine"] != nil else {
            // Ignore the variable, which applies to all commands.
            guard self.fleet != nil else { return nil }
            throw CommandError(
                .usage, "--fleet requires an engine: add --engine postgres://…, or use --name")
        }
        return try environment.checking("fleet", isFlag: self.fleet != nil) { () throws(CommandError) in
            try StateOptions.checked(fleet, "--fleet")
        }
    }

    /// Nil without `--engine`.
    ///
    /// - Throws: ``CommandError`` with 64, or 78 in a file; 66 if the file with the password can't be read.
    func engine(_ environment: Environment) throws(CommandError) -> Engine? {
        let fleet = try botName(environment)
        guard let text = engine ?? environment["engine"] else { return nil }
        let address = try environment.checking("engine", isFlag: engine != nil) { () throws(CommandError) in
            do throws(PostgresAddressError) { return try PostgresAddress(text) } catch {
                throw CommandError(.usage, "--engine: \(error)")
            }
        }
        guard fleet.utf8.count <= Engine.maxNameLength else {
            throw environment.contradiction(
                self.fleet == nil ? ["fleet", "name"] : [],
                "a fleet's name can have at most \(Engine.maxNameLength) bytes: choose a shorter one with "
                    + (self.fleet == nil ? environment.naming("fleet") : "--fleet"))
        }
        var found = Engine(
            address, fleet: fleet, user: environment["engine-user"], password: try password(environment),
            lease: try lease(environment),
            allowsUnsafe: try environment.isOn(allowUnsafeEngine, "allow-unsafe-engine"))
        if engine == nil, case .file = environment.source(of: "engine"), let options = environment.configurationOptions
        {
            let namesFleet = self.fleet != nil
            found.configured = (options, namesFleet ? "" : fleet)
        }
        return found
    }

    /// - Throws: ``CommandError`` with 64, or 78 in a file.
    private func lease(_ environment: Environment) throws(CommandError) -> Duration {
        let span = try environment.value(lease, "lease") { TimeSpan(argument: $0) }?.duration ?? Engine.defaultLease
        return try environment.checking("lease", isFlag: lease != nil) { () throws(CommandError) in
            guard span >= Engine.minLease, span <= .seconds(3600) else {
                throw CommandError(.usage, "--lease must be from 2s to 1h")
            }
            return span
        }
    }

    private func password(_ environment: Environment) throws(CommandError) -> @Sendable () throws -> String? {
        if let password = environment["engine-password"] { return { password } }
        guard let path = environment["engine-password-file"] else { return { nil } }
        let file = SecretFile(
            path: path, what: "password", setting: environment.naming("engine-password-file"),
            place: environment.place(of: "engine-password-file"))
        _ = try file.read()
        return { try file.read() }
    }
}
