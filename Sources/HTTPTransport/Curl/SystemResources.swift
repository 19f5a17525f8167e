import CCurl
import Glibc

/// The system resources of a client. Each request for one may fail; tests let them fail one by one.
struct SystemResources: Sendable {
    typealias ThreadEntry = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?

    /// Two descriptors, for reading and writing; nil if none are left.
    var pipe: @Sendable () -> (read: Int32, write: Int32)? = {
        var ends: [Int32] = [-1, -1]
        return Glibc.pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
    }

    /// Starts a detached thread. False if it can't be created.
    var startThread: @Sendable (ThreadEntry, UnsafeMutableRawPointer) -> Bool = { entry, context in
        var thread = pthread_t()
        guard pthread_create(&thread, nil, entry, context) == 0 else { return false }
        pthread_detach(thread)
        return true
    }

    var multiHandle: @Sendable () -> UnsafeMutableRawPointer? = { curl_multi_init() }
    var easyHandle: @Sendable () -> UnsafeMutableRawPointer? = { curl_easy_init() }

    /// No resources at all, for a client that needs none.
    static let none: SystemResources = {
        var none = SystemResources()
        (none.pipe, none.startThread) = ({ nil }, { _, _ in false })
        (none.multiHandle, none.easyHandle) = ({ nil }, { nil })
        return none
    }()
}
