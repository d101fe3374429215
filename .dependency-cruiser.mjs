import { existsSync, readdirSync } from 'node:fs';

/**
 * The walls of the house (ARCHITECTURE.md, "Rooms"): which room may import which. No rule has an exemption; a test proves that they hold,
 * and that modules were really seen.
 */

/** Room → the rooms of the same program that it may import. A feature is a room that imports foundations only. */
const foundations = ['core', 'store', 'history', 'mqtt', 'socket', 'http', 'platform'];
const rooms = {
  'apps/agent/src': {
    core: [],
    ...features(
      [
        'stack',
        'firmware',
        'wifi',
        'portal',
        'clock',
        'tls',
        'backup',
        'logs',
        'http',
        'doctor',
        'commands',
        'machine',
      ],
      ['core'],
    ),
  },
  'apps/backend/src': {
    core: [],
    store: ['core'],
    history: ['core', 'store'],
    mqtt: ['core'],
    http: ['core', 'store'],
    socket: ['core', 'http'],
    platform: ['core', 'store', 'http', 'socket'],
    // Each is a module (ADR 75).
    ...features(modulesIn('apps/backend/src'), foundations),
    // Known to the composition root alone.
    replicas: foundations,
  },
  // No folders: a program of one room.
  'apps/ble-helper/src': {},
  'apps/web/src': {
    api: [],
    i18n: ['api'],
    ui: ['api', 'i18n'],
    features: ['ui', 'api', 'i18n'],
    app: ['features', 'ui', 'api', 'i18n'],
  },
};

/** The files in the root of the agent; each imports only those behind it. */
const agentRoot = [
  'main',
  'command-line',
  'run-agent',
  'agent',
  'agent-api',
  'agent-features',
  'wifi-duty',
  'examine-station',
  'config',
  'variables',
  'version',
];

/** A folder with a module is a feature. */
function modulesIn(folder) {
  return readdirSync(folder).filter((name) => existsSync(`${folder}/${name}/${name}-module.ts`));
}

function features(names, may) {
  return Object.fromEntries(names.map((name) => [name, may]));
}

/** Node modules that only compute. Every other one touches the host. */
const computation = '^(node:)?(buffer|crypto|events|path|stream|timers|url|util|zlib)(/|$)';
const test = '\\.test\\.tsx?$';
const apps = ['agent', 'backend', 'ble-helper', 'web'];

const walls = Object.entries(rooms).flatMap(([root, plan]) => [
  ...Object.entries(plan).map(([room, may]) => ({
    name: `${root.split('/')[1]}: ${room} imports ${may.length === 0 ? 'no other room' : may.join(', ')}`,
    severity: 'error',
    from: { path: `^${root}/${room}/`, pathNot: test },
    to: { path: `^${root}/`, pathNot: [room, ...may].map((name) => `^${root}/${name}(/|\\.ts$)`) },
  })),
  {
    name: `${root.split('/')[1]}: every folder is a room of the plan`,
    severity: 'error',
    from: { path: `^${root}/(?!(${Object.keys(plan).join('|')})/)[^/]+/` },
    to: {},
  },
]);

export default {
  forbidden: [
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    { name: 'unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    ...walls,
    {
      name: 'agent: only adapters and the composition root import adapters',
      comment: 'ADR 77. The rest of a room knows ports.',
      severity: 'error',
      from: { path: '^apps/agent/src/[^/]+/(?!adapters/)', pathNot: test },
      to: { path: '^apps/agent/src/[^/]+/adapters/' },
    },
    {
      name: 'backend: a room imports its own adapters and those of core',
      comment: 'ADR 77. The composition root alone imports adapters of several rooms.',
      severity: 'error',
      from: { path: '^apps/backend/src/([^/]+)/', pathNot: test },
      to: { path: '^apps/backend/src/[^/]+/adapters/', pathNot: '^apps/backend/src/($1|core)/adapters/' },
    },
    {
      name: 'backend: core imports no adapter',
      severity: 'error',
      from: { path: '^apps/backend/src/core/(?!adapters/)', pathNot: test },
      to: { path: '^apps/backend/src/[^/]+/adapters/' },
    },
    ...['agent', 'backend'].map((app) => ({
      name: `${app}: an adapter imports the ports of its room, other adapters of it, and core`,
      severity: 'error',
      from: { path: `^apps/${app}/src/([^/]+)/adapters/`, pathNot: test },
      to: {
        path: `^apps/${app}/src/`,
        pathNot: [`^apps/${app}/src/$1/(adapters/|[^/]+-ports\\.ts$)`, `^apps/${app}/src/core/`],
      },
    })),
    {
      name: 'agent: only adapters import packages that may touch the host',
      comment: 'What the others may import only computes.',
      severity: 'error',
      from: { path: '^apps/agent/src/', pathNot: ['/adapters/', test] },
      to: { path: 'node_modules/', pathNot: 'node_modules/(prom-client|typebox)/' },
    },
    {
      name: 'agent: only adapters and the kit have timers',
      comment: 'The others have a `Clock`.',
      severity: 'error',
      from: { path: '^apps/agent/src/', pathNot: ['/adapters/', test] },
      to: { path: '^(node:)?timers(/|$)' },
    },
    {
      name: 'backend: only adapters and the root import network libraries',
      comment: 'Types of a library are no library.',
      severity: 'error',
      from: { path: '^apps/backend/src/[^/]+/', pathNot: ['/adapters/', test] },
      to: {
        path: 'node_modules/(@fastify/|(aedes|fastify|mqtt|mqtt-packet|nodemailer|pg|undici|ws)/)',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'backend: only adapters, the root and the kit have timers',
      comment: 'The others have a `Clock`, or the timers of the kit.',
      severity: 'error',
      from: { path: '^apps/backend/src/[^/]+/', pathNot: ['/adapters/', test] },
      to: { path: '^(node:)?timers(/|$)' },
    },
    ...['agent', 'backend'].map((app) => ({
      name: `${app}: only adapters start programs and speak D-Bus`,
      severity: 'error',
      from: { path: `^apps/${app}/src/`, pathNot: ['/adapters/', test] },
      to: { path: '^packages/kit/src/(command|free-port|message-bus|message-bus-socket)\\.ts$' },
    })),
    ...agentRoot.map((name, index) => ({
      name: `agent: ${name}.ts imports only root files behind it`,
      severity: 'error',
      from: { path: `^apps/agent/src/${name}\\.ts$` },
      to: { path: `^apps/agent/src/(${agentRoot.slice(0, index + 1).join('|')})\\.ts$` },
    })),
    {
      name: 'agent: every file in the root is of the plan',
      severity: 'error',
      from: { path: `^apps/agent/src/(?!(${agentRoot.join('|')})\\.ts$)[^/.]+\\.ts$` },
      to: {},
    },
    {
      name: 'agent: start and configuration import no feature and no adapter',
      severity: 'error',
      from: { path: '^apps/agent/src/(main|run-agent|config|variables|version)\\.ts$' },
      to: { path: '^apps/agent/src/(?!core/[^/]+$)[^/]+/' },
    },
    {
      name: 'web: a feature imports no other feature',
      severity: 'error',
      from: { path: '^apps/web/src/features/([^/]+)/' },
      to: { path: '^apps/web/src/features/', pathNot: '^apps/web/src/features/$1/' },
    },
    {
      name: 'backend: only the composition root knows the replicas',
      severity: 'error',
      from: {
        path: '^apps/backend/src/',
        pathNot: ['^apps/backend/src/(replicas/|backend\\.ts$|backend-platform\\.ts$)', test],
      },
      to: { path: '^apps/backend/src/replicas/' },
    },
    {
      name: 'protocol-imports-only-its-schema-library',
      severity: 'error',
      from: { path: '^packages/protocol/src', pathNot: test },
      to: { pathNot: ['^packages/protocol/src', 'node_modules/typebox/'] },
    },
    {
      name: 'kit-imports-only-protocol',
      severity: 'error',
      from: { path: '^packages/kit/src', pathNot: test },
      to: { path: '^(apps|simulators|tests)/' },
    },
    ...apps.map((app) => ({
      name: `${app}-imports-no-other-app`,
      severity: 'error',
      from: { path: `^apps/${app}/`, pathNot: test },
      to: { path: `^(apps/(?!${app}/)|simulators/|tests/)` },
    })),
    {
      name: 'simulators-import-packages-and-themselves',
      comment: 'The composition roots that boot the apps stand in simulators/station.',
      severity: 'error',
      from: { path: '^simulators/', pathNot: ['^simulators/station/', test] },
      to: { path: '^(apps|tests)/' },
    },
    {
      name: 'simulated-station-imports-the-start-of-the-agent',
      severity: 'error',
      from: { path: '^simulators/station/', pathNot: test },
      to: { path: '^(apps/(?!agent/src/run-agent\\.ts$)|tests/)' },
    },
    {
      name: 'rig-and-virtual-station-import-no-app',
      comment: 'They drive what ships from outside.',
      severity: 'error',
      from: { path: '^tests/(rig|vstation)/' },
      to: { path: '^(apps|tests/(e2e|faults|bench|sweeps))/' },
    },
    {
      name: 'tests-import-no-test',
      severity: 'error',
      from: { path: '^(tests|simulators|apps|packages)/' },
      to: { path: test },
    },
    {
      name: 'products-import-no-testing-code',
      severity: 'error',
      from: { path: '^(apps|packages)/[^/]+/src/', pathNot: test },
      to: { path: '^apps/[^/]+/testing/' },
    },
    {
      name: 'decisions-are-pure',
      comment:
        'House rule 1: a file whose name ends in decide.ts imports no Node module, no npm package, no clock and no adapter.',
      severity: 'error',
      from: { path: 'decide\\.ts$' },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev'] },
    },
    {
      name: 'decisions-know-no-clock-and-no-adapter',
      severity: 'error',
      from: { path: 'decide\\.ts$' },
      to: {
        path: '/adapters/|^packages/kit/src/(clock|command|durable-files|durable-json|free-port|lifecycle|machine-facts)\\.ts$',
      },
    },
    {
      name: 'only-adapters-touch-the-host',
      comment: 'House rule 3. Types of the host are no host.',
      severity: 'error',
      from: {
        path: '^apps/(agent|backend|ble-helper)/src/',
        pathNot: ['/adapters/', '^apps/[^/]+/src/(main|config)\\.ts$', test],
      },
      to: { dependencyTypes: ['core'], dependencyTypesNot: ['type-only'], pathNot: computation },
    },
    {
      name: 'kit-touches-the-host-in-few-files',
      severity: 'error',
      from: {
        path: '^packages/kit/src/',
        pathNot: [
          '^packages/kit/src/(clock|command|durable-files|free-port|machine-facts|node-tables|outgoing-proxy)\\.ts$',
          test,
        ],
      },
      to: { dependencyTypes: ['core'], dependencyTypesNot: ['type-only'], pathNot: computation },
    },
    {
      name: 'protocol-and-web-run-in-a-browser',
      severity: 'error',
      from: { path: '^(packages/protocol/src|apps/web/src)/', pathNot: test },
      to: { dependencyTypes: ['core'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['node', 'import', 'default'],
      extensions: ['.ts', '.tsx', '.mjs', '.js'],
    },
  },
};
