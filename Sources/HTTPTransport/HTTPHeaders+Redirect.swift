extension HTTPHeaders {
    /// Where a redirect leads, for messages: `Location` without user info, query and fragment. Nil if the answer does not
    /// say, or user info can't be told from the rest.
    ///
    /// - Parameter includesPath: If false, only scheme and host, and nil for a path on the same server.
    package func redirectTarget(includesPath: Bool) -> String? {
        guard let location = self["Location"]?.prefix(while: { $0 != "?" && $0 != "#" }) else { return nil }
        let isOnThisServer = location.hasPrefix("/") && !location.hasPrefix("//")
        guard !isOnThisServer, let authority = location.firstRange(of: "//")?.upperBound else {
            return includesPath && !location.isEmpty && !location.contains("@") ? String(location) : nil
        }
        let end = location[authority...].firstIndex { "/\\".contains($0) } ?? location.endIndex
        let path = location[end...]
        let host = location[authority..<end].split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        // A slash in a password ends the authority early.
        guard !host.isEmpty, !path.contains("@") else { return nil }
        return "\(location[..<authority])\(host)\(includesPath ? path : "")"
    }
}
