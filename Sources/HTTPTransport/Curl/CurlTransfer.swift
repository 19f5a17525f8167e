import CCurl
internal import Locking

/// Identifies a transfer without keeping it alive. After the transfer's end, it finds nothing.
typealias TransferID = UInt64

/// The buffers for the two bodies of an exchange.
struct ExchangeFlows: Sendable {
    let body: Locked<BodyFlow>
    var upload: Locked<UploadFlow>?
}

/// One exchange with libcurl: an easy handle and everything with the same lifetime.
///
/// Belongs to the loop's thread; only ``flow`` and the flow of ``body`` are shared. Deallocating it closes the handle.
final class CurlTransfer {
    typealias Head = Result<
        (status: Int, headers: HTTPHeaders, upload: HTTPUpload?, connection: HTTPConnectionReport?), HTTPTransportError
    >

    let id: TransferID
    let handle: TransferHandle
    /// The body of the answer.
    let flow: Locked<BodyFlow>
    private(set) var body: SentBody
    var timers: ExchangeTimers
    var reading: PacedReading
    /// What libcurl does not know if the exchange fails: why it was ended here, and whether an address of the host was
    /// refused (see ``LinkLocal``).
    var causes: (ownError: HTTPTransportError.Code?, hasRefusedAddress: Bool) = (nil, false)
    /// Waits for the head; nil once resumed.
    var headReader: UnsafeContinuation<Head, Never>?
    private(set) var head: HeadParser
    /// What is reported: the connection, if the request asks for it, and the end of the exchange, if there is an observer.
    private let reports: (connection: Bool, end: HTTPExchangeRecord.Pending?)
    private let marked: MarkedTransfers
    private var isMarked = false

    init(
        _ easy: UnsafeMutableRawPointer, id: TransferID, request: HTTPRequest, url: OpaquePointer,
        configuration: HTTPClientConfiguration, flows: ExchangeFlows, timers: ExchangeTimers, marked: MarkedTransfers
    ) {
        self.id = id
        handle = TransferHandle(easy, url: url, headerLines: request.headerLines())
        flow = flows.body
        body = SentBody(of: request, flows.upload)
        self.timers = timers
        self.marked = marked
        head = HeadParser(limit: configuration.bodies.headerLimit)
        reading = PacedReading(maxDelays: request.gatheringTime)
        reports = (
            request.reportsConnection, configuration.observer.map { HTTPExchangeRecord.Pending(request, $0) }
        )
        setOptions(for: request, configuration: configuration)
    }

    /// The connection report that the request asked for; the connection is open by now. Nil if it asked for none.
    var connectionReport: HTTPConnectionReport? {
        reports.connection ? HTTPConnectionReport(of: handle.easy) : nil
    }

    /// Reports the end of this exchange to the client's observer.
    func report(_ result: Result<Void, HTTPTransportError>) {
        reports.end?.end(
            status: head.isComplete ? head.status : nil, sent: handle.sentBytes, received: flow.withLock(\.received),
            result)
    }

    /// Marks the transfer to be checked when libcurl returns.
    func markForCheck() {
        guard !isMarked else { return }
        isMarked = true
        marked.list.append(self)
    }

    /// Removes the mark.
    func unmark() { isMarked = false }

    private func setOptions(for request: HTTPRequest, configuration: HTTPClientConfiguration) {
        let easy = handle.easy
        let me = Unmanaged.passUnretained(self).toOpaque()
        ccurl_setopt_ptr(easy, CURLOPT_PRIVATE, me)
        ccurl_setopt_ptr(easy, CURLOPT_HEADERDATA, me)
        ccurl_setopt_datafn(easy, CURLOPT_HEADERFUNCTION, Self.headerCallback)
        ccurl_setopt_ptr(easy, CURLOPT_WRITEDATA, me)
        ccurl_setopt_datafn(easy, CURLOPT_WRITEFUNCTION, Self.writeCallback)
        ccurl_setopt_ptr(easy, CURLOPT_READDATA, me)
        ccurl_setopt_datafn(easy, CURLOPT_READFUNCTION, Self.readCallback)
        ccurl_setopt_ptr(easy, CURLOPT_SEEKDATA, me)
        ccurl_setopt_seekfn(easy, Self.seekCallback)
        setCommonOptions(configuration, on: easy)
        ccurl_setopt_ptr(easy, CURLOPT_OPENSOCKETDATA, me)
        ccurl_setopt_str(easy, CURLOPT_PROXY, configuration.proxies.proxy(for: handle.scheme))
        request.setOptions(on: easy, bufferSize: configuration.bodies.bufferSize)
    }

    // MARK: Called by libcurl, on the loop's thread

    private func received(headerLine: UnsafeRawBufferPointer) -> Int {
        markForCheck()
        if case .tooLarge = head.append(line: headerLine) {
            causes.ownError = .tooLarge
            return 0
        }
        return headerLine.count
    }

    private func received(_ bytes: UnsafeRawBufferPointer) -> Int {
        markForCheck()
        guard flow.withLock({ $0.append(bytes) }) else { return Int(CURL_WRITEFUNC_PAUSE) }
        reading.note(bytes: bytes.count)
        return bytes.count
    }

    private func send(into target: UnsafeMutableRawBufferPointer) -> Int {
        markForCheck()
        return body.read(into: target)
    }

    private typealias DataCallback =
        @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int

    private static let headerCallback: DataCallback = { bytes, size, count, context in
        of(context).received(headerLine: UnsafeRawBufferPointer(start: bytes, count: size * count))
    }

    private static let writeCallback: DataCallback = { bytes, size, count, context in
        of(context).received(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }

    private static let readCallback: DataCallback = { bytes, size, count, context in
        of(context).send(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }

    private static let seekCallback: @convention(c) (UnsafeMutableRawPointer?, curl_off_t, Int32) -> Int32 = {
        context, place, origin in
        origin == SEEK_SET && of(context).body.seek(to: Int(place)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
    }

    /// The transfer behind a callback's last argument.
    static func of(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
        guard let context else { preconditionFailure("libcurl lost the transfer") }
        return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    }
}

/// The transfers for which libcurl has called a callback since the last check.
final class MarkedTransfers {
    var list: [CurlTransfer] = []
}
