// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// For targets that the time of a job does not depend on: a tenth smaller. Not for the library products and what they
/// depend on, because a package that others depend on may not have such flags.
let small = settings + [.unsafeFlags(["-Osize"], .when(platforms: [.linux], configuration: .release))]

/// For the simulated fleet: without optimization its steps take most of the time of the tests that only compute.
let simulated = settings + [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// For targets in which tests spend much time: optimized in debug builds, too. Not in a package that another one depends
/// on, because it may not have such flags; SwiftPM puts it into a folder `checkouts`.
let optimized: [SwiftSetting] =
    Context.packageDirectory.contains("/checkouts/") ? [] : [.unsafeFlags(["-O"], .when(configuration: .debug))]

extension Target.Dependency {
    static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
    static let coreMetrics = product(name: "CoreMetrics", package: "swift-metrics")
    static let grdb = product(name: "GRDB", package: "GRDB.swift")
    static let logging = product(name: "Logging", package: "swift-log")
    static let nioConcurrencyHelpers = product(name: "NIOConcurrencyHelpers", package: "swift-nio")
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
    static let serviceLifecycle = product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
    static let unixSignals = product(name: "UnixSignals", package: "swift-service-lifecycle")
    static let yams = product(name: "Yams", package: "Yams")
}

/// The program carries its own Swift runtime: less resident memory than with the shared libraries. The libraries' names
/// are those that Foundation, linked statically, needs beside itself.
///
/// It is position independent, and all addresses that the loader fills in are read-only afterwards. Compared with a fixed
/// address, a process then has 1.2 MiB more memory of its own (`Private_Dirty` in `/proc/PID/smaps_rollup`). lld packs the
/// relocations into 24 KB (`readelf --sections`: `.relr.dyn`); gold, the compiler's choice, needs 2.8 MB.
///
/// Half the size: nothing loads the program as a library, so its symbols need no dynamic table, and the lines of the
/// sources, which backtraces print, are compressed. See CEmptyICUData for the rest.
let lean: [LinkerSetting] = [
    .unsafeFlags(
        ["-static-stdlib", "-use-ld=lld", "-Xclang-linker", "-pie", "-Xlinker", "--start-group"]
            + [
                "Foundation", "CoreFoundation", "FoundationInternationalization", "FoundationEssentials",
                "_FoundationICU", "_FoundationCShims", "_FoundationCollections", "dispatch", "BlocksRuntime",
            ].map { "-l" + $0 } + [
                "-Xlinker", "--end-group", "-lstdc++", "-Xlinker", "--no-export-dynamic",
                "-Xlinker", "--compress-debug-sections=zlib",
                // Functions with the same instructions are kept once.
                "-Xlinker", "--icf=all",
            ] + ["relro", "now", "pack-relative-relocs"].flatMap { ["-Xlinker", "-z", "-Xlinker", $0] },
        .when(platforms: [.linux], configuration: .release))
]

/// The commit that the program is built from, for `changebot --version`. `.package/version` prints these variables; a
/// plain `swift build` works without them.
let commit: [CSetting] = ["CHANGEBOT_COMMIT", "CHANGEBOT_COMMIT_DATE"].compactMap { name in
    Context.environment[name].map { .define(name, to: "\"\($0)\"") }
}

let package = Package(
    name: "changebot",
    products: [
        .executable(name: "changebot", targets: ["changebot"]),
        .library(name: "GatewayClient", targets: ["GatewayClient"]),
        .library(name: "TypedDocuments", targets: ["TypedDocuments"]),
        .library(name: "TodoData", targets: ["TodoData"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // A command only: `swift package generate-documentation`. No target depends on it.
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
    ],
    targets: [
        // System libraries: a module map and, where Swift cannot call C, an inline wrapper.
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CJSONC", pkgConfig: "json-c", providers: [.apt(["libjson-c-dev"])]),
        .systemLibrary(name: "CPCRE2", pkgConfig: "libpcre2-8", providers: [.apt(["libpcre2-dev"])]),
        .systemLibrary(name: "CDuktape", pkgConfig: "duktape", providers: [.apt(["duktape-dev"])]),
        // No pkg-config file comes with it.
        .systemLibrary(name: "CJQ", providers: [.apt(["libjq-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CHelperProcess"),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        // What `changebot demo` needs, so that it works from any folder; and the commit.
        .target(name: "CEmbeddedFiles", cSettings: commit),
        .target(name: "CEmptyICUData"),
        // Without libpq on the link line: it is loaded when the engine is first used. Needs the headers of libpq-dev.
        .target(name: "CPostgreSQL"),
        .target(name: "CICU", linkerSettings: [.linkedLibrary("icui18n"), .linkedLibrary("icuuc")]),

        // The arrows point one way; README.md has the map.
        .target(name: "Encodings", dependencies: ["CCrypto"], swiftSettings: settings),
        .target(name: "Locking", swiftSettings: settings),
        .target(name: "Compression", dependencies: ["CZlib"], swiftSettings: settings),
        .target(name: "LosslessJSON", dependencies: ["CJSONC", "CICU"], swiftSettings: settings + optimized),
        .target(name: "HTTPTransport", dependencies: ["CCurl", "Encodings", "Locking"], swiftSettings: settings),
        .target(
            name: "AccessTokens",
            dependencies: ["CHelperProcess", "Encodings", "HTTPTransport", "Locking", "LosslessJSON"],
            swiftSettings: settings),
        .target(name: "PostgreSQL", dependencies: ["CPostgreSQL", "Locking"], swiftSettings: settings),
        .target(name: "HelperProcesses", dependencies: ["CHelperProcess", "Locking"], swiftSettings: settings),
        .target(
            name: "JQ", dependencies: ["CJQ", "Encodings", "HelperProcesses", "LosslessJSON", "Locking"],
            swiftSettings: settings),
        .target(
            name: "SyncFunctions", dependencies: ["CDuktape", "HelperProcesses", "LosslessJSON", "Locking"],
            swiftSettings: small),
        .target(
            name: "GatewayClient",
            dependencies: ["AccessTokens", "Compression", "Encodings", "HTTPTransport", "Locking", "LosslessJSON"],
            swiftSettings: settings),
        .target(
            name: "Rules",
            dependencies: ["CICU", "Compression", "CPCRE2", "Encodings", "JQ", "LosslessJSON", "Locking", .yams],
            swiftSettings: settings),
        .target(
            name: "DocumentFlow",
            dependencies: ["Encodings", "GatewayClient", "Locking", "LosslessJSON", .logging, .serviceLifecycle],
            swiftSettings: settings),
        .target(
            name: "RuleEditing", dependencies: ["Locking", "LosslessJSON", "Rules"], swiftSettings: small),
        .target(
            name: "LanguageServer", dependencies: ["Locking", "LosslessJSON", "RuleEditing"], swiftSettings: small),
        .target(name: "Fleet", dependencies: ["Locking"], swiftSettings: simulated),
        .target(
            name: "TypedDocuments",
            dependencies: [
                "DocumentFlow", "Encodings", "GatewayClient", "Locking", "LosslessJSON", "Rules",
                .logging,
            ],
            swiftSettings: settings),
        .target(
            name: "RulePlay",
            dependencies: ["Encodings", "HTTPServing", "Locking", "LosslessJSON", "RuleEditing", "Rules"],
            swiftSettings: small),
        .target(
            name: "Monitoring",
            dependencies: [
                "DocumentFlow", "Encodings", "GatewayClient", "HTTPServing", "Locking", "LosslessJSON",
                .coreMetrics,
            ],
            swiftSettings: small),
        .target(
            name: "Revisions",
            dependencies: [
                "CHelperProcess", "Compression", "DocumentFlow", "Encodings", "GatewayClient", "Locking",
                "LosslessJSON", "Rules",
                .logging,
            ],
            swiftSettings: settings),
        .target(name: "FleetEngine", dependencies: ["Fleet", "Locking", "PostgreSQL"], swiftSettings: settings),
        .target(
            name: "BotState",
            dependencies: [
                "DocumentFlow", "Encodings", "Fleet", "FleetEngine", "GatewayClient", "Locking", "LosslessJSON",
                "PostgreSQL", "Rules",
                .grdb, .logging, .serviceLifecycle,
            ],
            swiftSettings: settings),
        .target(
            name: "Outside",
            dependencies: [
                "AccessTokens", "BotState", "Compression", "DocumentFlow", "Encodings", "GatewayClient",
                "HTTPTransport", "Locking",
                "LosslessJSON", "Rules", .logging, .serviceLifecycle,
            ],
            swiftSettings: settings),
        .target(
            name: "Delivery",
            dependencies: [
                "BotState", "DocumentFlow", "Encodings", "GatewayClient", "HTTPTransport", "Locking", "LosslessJSON",
                "Outside", "Revisions", "Rules", .logging, .serviceLifecycle,
            ],
            swiftSettings: settings),
        .target(
            name: "Bots",
            dependencies: [
                "BotState", "Delivery", "DocumentFlow", "Encodings", "Fleet", "FleetEngine", "GatewayClient", "Locking",
                "LosslessJSON", "PostgreSQL", "Rules", .logging, .serviceLifecycle,
            ],
            swiftSettings: settings),
        .target(
            name: "Transfer",
            dependencies: [
                "Compression", "DocumentFlow", "Encodings", "GatewayClient", "Locking", "LosslessJSON", "Revisions",
                "Rules", "TodoChecks", .logging, .serviceLifecycle,
            ],
            swiftSettings: settings),
        .target(
            name: "HTTPServing",
            dependencies: ["Encodings", .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix],
            swiftSettings: settings + optimized
        ),
        .target(name: "TodoChecks", dependencies: ["Encodings", "LosslessJSON"], swiftSettings: settings),
        .target(
            name: "TodoData", dependencies: ["GatewayClient", "LosslessJSON", "TodoChecks", "TypedDocuments"],
            swiftSettings: settings),
        .target(
            name: "EmbeddedGateway",
            dependencies: [
                "CCrypto", "Compression", "Encodings", "HTTPServing", "Locking", "LosslessJSON", "SyncFunctions", .grdb,
                .logging, .nioConcurrencyHelpers,
            ],
            swiftSettings: small + optimized),
        .executableTarget(
            name: "changebot",
            dependencies: [
                "AccessTokens", "BotState", "Bots", "CEmbeddedFiles", "CEmptyICUData", "CMalloc", "Delivery",
                "DocumentFlow",
                "EmbeddedGateway", "Encodings", "Fleet", "GatewayClient", "HTTPServing", "HTTPTransport",
                "JQ", "LanguageServer", "Locking", "LosslessJSON", "Monitoring", "Outside", "PostgreSQL",
                "Revisions", "RuleEditing", "RulePlay", "Rules", "SyncFunctions", "Transfer", .argumentParser,
                .logging,
                .serviceLifecycle,
                .unixSignals,
            ],
            swiftSettings: small, linkerSettings: lean),

        // Measurements.
        .executableTarget(
            name: "changebot-bench",
            dependencies: [
                "BotState", "Bots", "Delivery", "Encodings", "GatewayClient", "Locking", "LosslessJSON", "PostgreSQL",
                "Rules", "TestKit", .argumentParser,
            ],
            swiftSettings: settings),

        // Kills the bot at random moments, and looks whether anything is lost.
        .executableTarget(
            name: "changebot-soak",
            dependencies: ["GatewayClient", "Locking", "LosslessJSON", "TestKit", .argumentParser],
            swiftSettings: settings),

        // Simulates the clock, the scheduler, the network, the gateway and the disk of a bot.
        .target(name: "CSimulatedSystem"),
        .executableTarget(
            name: "changebot-simulate",
            dependencies: [
                "BotState", "Bots", "CSimulatedSystem", "Compression", "Delivery", "DocumentFlow", "Encodings", "Fleet",
                "GatewayClient", "HTTPTransport", "JQ", "Locking", "LosslessJSON", "Rules", "TestKit", .argumentParser,
                .grdb, .logging,
                .serviceLifecycle,
            ],
            swiftSettings: simulated),

        // The helper processes of the tests.
        .executableTarget(
            name: "changebot-helper", dependencies: ["JQ", "SyncFunctions"], swiftSettings: settings,
            linkerSettings: [
                .unsafeFlags(["-static-stdlib"], .when(platforms: [.linux], configuration: .debug))
            ]),

        .target(name: "TestKit", dependencies: ["CMalloc", "Fleet", "Locking"], swiftSettings: simulated),
        .testTarget(
            name: "ChangebotTests",
            dependencies: [
                "AccessTokens", "BotState", "Bots", "changebot", "Delivery", "DocumentFlow", "EmbeddedGateway",
                "FleetEngine",
                "GatewayClient", "HTTPTransport", "Locking", "LosslessJSON", "Monitoring", "Outside", "Rules",
                "RulePlay", "TestKit",
                .argumentParser, .grdb, .logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AccessTokensTests", dependencies: ["AccessTokens", "Encodings", "Locking", "TestKit"],
            swiftSettings: settings),
        .testTarget(name: "CompressionTests", dependencies: ["Compression"], swiftSettings: settings),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "Compression", "EmbeddedGateway", "GatewayClient", "HTTPTransport", "Locking", "LosslessJSON",
                "TestKit",
                .logging,
            ],
            swiftSettings: settings),
        .testTarget(name: "EncodingsTests", dependencies: ["Encodings"], swiftSettings: settings),
        .testTarget(
            name: "EmbeddedGatewayTests",
            dependencies: [
                "Encodings", "Compression", "EmbeddedGateway", "HTTPServing", "LosslessJSON", "SyncFunctions",
                "TestKit",
                "changebot", .grdb, .logging, .nioCore, .nioPosix,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "GatewayClientTests",
            dependencies: [
                "AccessTokens", "Encodings", "GatewayClient", "HTTPTransport", "Locking", "LosslessJSON", "TestKit",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "HTTPTransportTests", dependencies: ["Encodings", "HTTPTransport", "CCurl", "Locking", "TestKit"],
            swiftSettings: settings),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "AccessTokens", "BotState", "Bots", "Compression", "Delivery", "DocumentFlow", "EmbeddedGateway",
                "Encodings", "Fleet",
                "FleetEngine", "GatewayClient", "HTTPTransport", "JQ", "Locking", "LosslessJSON", "Outside",
                "PostgreSQL", "Revisions", "Rules", "TestKit", "TodoData", "Transfer", "TypedDocuments", "changebot",
                .grdb, .logging, .serviceLifecycle,
            ],
            exclude: ["Traces/Golden"],
            swiftSettings: settings),
        .testTarget(
            name: "MonitoringTests",
            dependencies: [
                "DocumentFlow", "GatewayClient", "HTTPServing", "Locking", "LosslessJSON", "Monitoring", "TestKit",
                .coreMetrics,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "SyncFunctionsTests", dependencies: ["LosslessJSON", "SyncFunctions", "TestKit", "changebot"],
            swiftSettings: settings),
        .testTarget(name: "TestKitTests", dependencies: ["Locking", "TestKit"], swiftSettings: settings),
        .testTarget(
            name: "PostgreSQLTests", dependencies: ["CPostgreSQL", "Locking", "PostgreSQL", "TestKit"],
            swiftSettings: settings),
        .testTarget(
            name: "JQTests",
            dependencies: ["HelperProcesses", "JQ", "Locking", "LosslessJSON", "TestKit", "changebot"],
            swiftSettings: settings),
        .testTarget(
            name: "LosslessJSONTests", dependencies: ["LosslessJSON", "CJSONC", "TestKit"], swiftSettings: settings),
        .testTarget(
            name: "BotsTests",
            dependencies: [
                "BotState", "Bots", "Compression", "Delivery", "DocumentFlow", "Encodings", "Fleet", "GatewayClient",
                "HTTPTransport", "Locking", "LosslessJSON", "Outside", "PostgreSQL", "Rules", "TestKit",
                .grdb, .logging, .serviceLifecycle,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TypedDocumentsTests",
            dependencies: ["GatewayClient", "LosslessJSON", "TestKit", "TypedDocuments"],
            swiftSettings: settings),
        .testTarget(
            name: "DocumentFlowTests", dependencies: ["DocumentFlow", "GatewayClient", "Locking", "TestKit", .logging],
            swiftSettings: settings),
        .testTarget(name: "FleetTests", dependencies: ["Fleet", "Locking", "TestKit"], swiftSettings: simulated),
        .testTarget(
            name: "FleetEngineTests",
            dependencies: ["BotState", "Bots", "Fleet", "FleetEngine", "Locking", "PostgreSQL", "TestKit"],
            swiftSettings: settings),
        .testTarget(
            name: "TodoDataTests",
            dependencies: [
                "GatewayClient", "LosslessJSON", "Rules", "TodoChecks", "TodoData", "TypedDocuments",
                "changebot",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "RevisionsTests",
            dependencies: [
                "DocumentFlow", "GatewayClient", "Locking", "LosslessJSON", "Revisions", "Rules", "TestKit", .logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TransferTests",
            dependencies: [
                "Encodings", "Transfer", "Compression", "DocumentFlow", "GatewayClient", "Locking", "LosslessJSON",
                "Revisions", "TestKit",
                .logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "RulesTests", dependencies: ["Encodings", "JQ", "LosslessJSON", "Rules", "TestKit", "changebot"],
            swiftSettings: settings),
        .testTarget(
            name: "LanguageServerTests",
            dependencies: ["LanguageServer", "Locking", "LosslessJSON", "RuleEditing", "changebot"],
            swiftSettings: settings),
        .testTarget(
            name: "RuleEditingTests", dependencies: ["LosslessJSON", "RuleEditing", "Rules", "changebot"],
            swiftSettings: settings),
        .testTarget(
            name: "RulePlayTests",
            dependencies: ["HTTPServing", "Locking", "LosslessJSON", "RulePlay", "Rules", "TestKit", "changebot"],
            swiftSettings: settings),
    ]
)
