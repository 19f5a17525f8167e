extension String {
    /// The string as one word of a POSIX shell, quoted if necessary.
    package var shellWord: String {
        let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%".unicodeScalars
        if !isEmpty, unicodeScalars.allSatisfy({ plain.contains($0) || !$0.isASCII && $0.properties.isAlphabetic }) {
            return self
        }
        return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
