import TestKit
import Testing

/// Accepted and refused parameters of a feed.
@Suite(.limitedParallelism) struct FeedRefusalTests {
    static let cases: [RequestCase] = [
        .init("a word as since", "GET", "/_changes?since=abc", goes: KnownDifferences.sinceText),
        .init("now as since", "GET", "/_changes?since=now", goes: KnownDifferences.sinceNow),
        .init("zero as since", "GET", "/_changes?since=0&limit=1", always: .done(200)),
        .init("a number as since", "GET", "/_changes?since=5&limit=1", goes: KnownDifferences.sinceNumber),
        .init("a negative since", "GET", "/_changes?since=-1", goes: KnownDifferences.negativeSince),
        .init("four parts as since", "GET", "/_changes?since=1:2:3:4", goes: KnownDifferences.sinceFourParts),
        .init("an empty since", "GET", "/_changes?since=&limit=1", goes: KnownDifferences.sinceEmptyOrQuoted),
        .init("since in quotes", "GET", "/_changes?since=%225%22&limit=1", goes: KnownDifferences.sinceEmptyOrQuoted),
        .init(
            "two parts as since", "GET", "/_changes?since=5:3&limit=1", goes: KnownDifferences.sinceOfSyncGateway),
        .init(
            "a skipped sequence as since", "GET", "/_changes?since=4::8&limit=1",
            goes: KnownDifferences.sinceOfSyncGateway),
        .init("an unknown feed", "GET", "/_changes?feed=nonsense", goes: KnownDifferences.unknownFeed),
        .init("an unknown filter", "GET", "/_changes?filter=foo/bar", goes: KnownDifferences.unknownFilter),
        .init(
            "no channels", "GET", "/_changes?filter=sync_gateway/bychannel",
            goes: KnownDifferences.filterWithoutChannels),
        .init(
            "ids for a longpoll", "GET", "/_changes?filter=_doc_ids&doc_ids=a&feed=longpoll",
            goes: KnownDifferences.filterOfLongpoll),
        .init("half a request", "POST", "/_changes", "{", goes: KnownDifferences.feedOptionsNotJSON),
        .init("an empty request", "POST", "/_changes", "", goes: KnownDifferences.feedOptionsEmpty),
        .init("the head of a feed", "HEAD", "/_changes", goes: KnownDifferences.headOfFeed),
    ]

    @Test(arguments: cases) func exchangeHasTheExpectedAnswer(_ request: RequestCase) async throws {
        try await request.run()
    }
}
