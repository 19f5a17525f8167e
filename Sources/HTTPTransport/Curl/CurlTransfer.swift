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
/// Belongs to the loop's thread; only ``flow`` and ``uploadFlow`` are shared. Deallocating it closes the handle.
final class CurlTransfer {
    typealias Head = Result<
        (status: Int, headers: HTTPHeaders, upload: HTTPUpload?, connection: HTTPConnectionReport?), HTTPTransportError
    >

    let id: TransferID
    let easy: UnsafeMutableRawPointer
    let flow: Locked<BodyFlow>
    /// For a body that is produced while it is sent; nil for all others.
    let uploadFlow: Locked<UploadFlow>?
    var timers: ExchangeTimers
    /// Why the exchange was ended here, if libcurl only knows that a callback failed.
    var ownError: HTTPTransportError.Code?
    /// Whether an address of the host was refused: see ``LinkLocal``.
    var hasRefusedAddress = false
    /// Waits for the head; nil once resumed.
    var headReader: UnsafeContinuation<Head, Never>?
    /// Nil for a body that is delivered without pacing.
    var pacing: ReadPacing?
    /// When the socket is read again; nil unless the transfer rests.
    var delayedUntil: ContinuousClock.Instant?
    /// Bytes of the body since the last check.
    var freshBytes = 0

    private(set) var head: HeadParser
    private var upload: UploadPosition
    /// Nil if the request does not measure its upload.
    private(set) var uploadTimer: UploadTimer?
    private let mayBeRepeated: Bool
    private let reportsConnection: Bool
    /// Reports the end of the exchange; nil if there is no observer.
    private let record: HTTPExchangeRecord.Pending?
    private let marked: MarkedTransfers
    private var isMarked = false
    private let url: OpaquePointer
    private var headerLines: UnsafeMutablePointer<curl_slist>?
    private let errorText: UnsafeMutablePointer<CChar>

    init(
        _ easy: UnsafeMutableRawPointer, id: TransferID, request: HTTPRequest, url: OpaquePointer,
        configuration: HTTPClientConfiguration, flows: ExchangeFlows, timers: ExchangeTimers, marked: MarkedTransfers
    ) {
        self.id = id
        self.easy = easy
        flow = flows.body
        uploadFlow = flows.upload
        self.timers = timers
        self.marked = marked
        self.url = url
        head = HeadParser(limit: configuration.bodies.headerLimit)
        upload = UploadPosition(request.body)
        uploadTimer = request.measuresUpload ? request.body.count.flatMap(UploadTimer.init) : nil
        pacing = request.gatheringTime.map { ReadPacing(maxDelays: $0) }
        mayBeRepeated = request.mayBeRepeated
        reportsConnection = request.reportsConnection
        record = configuration.observer.map { HTTPExchangeRecord.Pending(request, $0) }
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        headerLines = request.headerLines()
        setOptions(for: request, configuration: configuration)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headerLines)
        curl_url_cleanup(url)
        errorText.deallocate()
    }

    /// libcurl's error message; empty if it gave none.
    var errorMessage: String { String(cString: errorText) }

    /// Host and port, for errors.
    var place: (host: String?, port: Int?) { url.place }

    /// Bytes of the request that the server's side has acknowledged, counted from an unknown start; nil if unknown.
    var acknowledgedBytes: Int? {
        var (socket, sent, waiting): (curl_socket_t, curl_off_t, Int32) = (-1, 0, 0)
        guard ccurl_getinfo_socket(easy, &socket) == CURLE_OK, socket >= 0,
            ccurl_getinfo_off(easy, CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK,
            ccurl_unacknowledged(socket, &waiting) == 0
        else { return nil }
        return Int(sent) - Int(waiting)
    }

    /// The connection report that the request asked for; the connection is open by now. Nil if it asked for none.
    var connectionReport: HTTPConnectionReport? { reportsConnection ? HTTPConnectionReport(of: easy) : nil }

    /// Reports the end of this exchange to the client's observer.
    func report(_ result: Result<Void, HTTPTransportError>) {
        guard let record else { return }
        var sent: curl_off_t = 0
        ccurl_getinfo_off(easy, CURLINFO_SIZE_UPLOAD_T, &sent)
        record.end(
            status: head.isComplete ? head.status : nil, sent: Int(sent), received: flow.withLock(\.received), result)
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
        let me = Unmanaged.passUnretained(self).toOpaque()
        ccurl_setopt_ptr(easy, CURLOPT_PRIVATE, me)
        ccurl_setopt_ptr(easy, CURLOPT_ERRORBUFFER, errorText)
        ccurl_setopt_url(easy, url)
        ccurl_setopt_slist(easy, CURLOPT_HTTPHEADER, headerLines)
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
        ccurl_setopt_str(easy, CURLOPT_PROXY, configuration.proxies.proxy(for: url.scheme))
        request.setOptions(on: easy, bufferSize: configuration.bodies.bufferSize)
    }

    // MARK: Called by libcurl, on the loop's thread

    private func received(headerLine: UnsafeRawBufferPointer) -> Int {
        markForCheck()
        if case .tooLarge = head.append(line: headerLine) {
            ownError = .tooLarge
            return 0
        }
        return headerLine.count
    }

    private func received(_ bytes: UnsafeRawBufferPointer) -> Int {
        markForCheck()
        guard flow.withLock({ $0.append(bytes) }) else { return Int(CURL_WRITEFUNC_PAUSE) }
        freshBytes += bytes.count
        return bytes.count
    }

    private func send(into target: UnsafeMutableRawBufferPointer) -> Int {
        markForCheck()
        guard let uploadFlow else { return sendSegments(into: target) }
        let (count, feeder) = uploadFlow.withLock { $0.read(into: target) }
        feeder?.resume(returning: true)
        return count ?? Int(CURL_READFUNC_PAUSE)
    }

    private func sendSegments(into target: UnsafeMutableRawBufferPointer) -> Int {
        guard let timer = uploadTimer else { return upload.read(into: target) }
        uploadTimer?.willRead(isAtStart: upload.isAtStart)
        let count = upload.read(into: UnsafeMutableRawBufferPointer(rebasing: target.prefix(timer.pieceSize)))
        uploadTimer?.didRead(count)
        return count
    }

    private func seek(to place: Int) -> Bool {
        guard let uploadFlow else { return mayBeRepeated || upload.isAtStart ? upload.seek(to: place) : false }
        return place == 0 && !uploadFlow.withLock(\.hasBegun)
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
        origin == SEEK_SET && of(context).seek(to: Int(place)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
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
