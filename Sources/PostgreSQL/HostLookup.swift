internal import Dispatch
internal import Glibc
internal import Locking

/// Finds the addresses of a name within a deadline: libpq itself would wait for the resolver.
enum HostLookup {
    /// Numeric IP addresses, in the resolver's order.
    ///
    /// - Parameter limit: Ends the wait before the deadline.
    /// - Throws: ``PostgresError/unavailable(reason:sqlState:)``.
    static func addresses(
        of name: String, until deadline: ContinuousClock.Instant, limit: CallLimit? = nil
    ) throws(PostgresError) -> [String] {
        if NumericAddress(name) != nil { return [name] }
        let answer = Locked<(addresses: [String], error: String?)>(([], "no answer from the resolver in time"))
        let isDone = DispatchSemaphore(value: 0)
        // After the deadline the lookup continues, but its result is ignored.
        DispatchQueue.global().async {
            let found = resolve(name)
            answer.withLock { $0 = found }
            isDone.signal()
        }
        while true {
            let remaining = max(.zero, min(deadline, limit?.end ?? deadline) - .now)
            let time = limit == nil ? remaining : min(remaining, CallLimit.interval)
            if isDone.wait(timeout: .now() + .milliseconds(time.milliseconds)) == .success || remaining == .zero {
                break
            }
        }
        let (addresses, error) = answer.withLock { $0 }
        if let error { throw .unavailable(reason: "\(name): \(error)") }
        return addresses
    }

    private static func resolve(_ name: String) -> (addresses: [String], error: String?) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(name, nil, &hints, &list)
        guard result == 0 else { return ([], String(cString: gai_strerror(result))) }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            if getnameinfo(
                entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            {
                let address = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
                if let address, !addresses.contains(address) { addresses.append(address) }
            }
            next = entry.ai_next
        }
        return addresses.isEmpty ? ([], "it has no address") : (addresses, nil)
    }
}
