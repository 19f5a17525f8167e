internal import FoundationEssentials
internal import Glibc

/// The limit of open files and connections.
enum OpenFiles {
    /// Raises the limit to the highest value that the system allows.
    static func raiseLimit() {
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(files, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(files, &limit)
    }
}
