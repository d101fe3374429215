/** The arrows between the rooms (ARCHITECTURE.md). A test proves that they hold, and that modules were really seen. */
const apps = ['agent', 'backend', 'ble-helper', 'web'];

export default {
  forbidden: [
    {
      name: 'no-cycle',
      severity: 'error',
      from: { pathNot: 'node_modules' },
      to: { circular: true, dependencyTypesNot: ['type-only'] },
    },
    { name: 'unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'protocol-imports-only-its-schema-library',
      severity: 'error',
      from: { path: '^packages/protocol/src', pathNot: '\\.test\\.ts$' },
      to: { pathNot: ['^packages/protocol/src', 'node_modules/typebox/'] },
    },
    {
      name: 'kit-imports-only-protocol',
      severity: 'error',
      from: { path: '^packages/kit/src', pathNot: '\\.test\\.ts$' },
      to: { path: '^(apps|simulators|tests)/' },
    },
    ...apps.map((app) => ({
      name: `${app}-imports-no-other-app`,
      severity: 'error',
      from: { path: `^apps/${app}/` },
      to: { path: `^(apps/(?!${app}/)|simulators/|tests/)` },
    })),
    {
      name: 'simulators-import-packages-and-themselves',
      severity: 'error',
      from: { path: '^simulators/', pathNot: '^simulators/station/|\\.test\\.ts$' },
      to: { path: '^(apps|tests)/' },
    },
    {
      name: 'decisions-are-pure',
      comment: 'House rule 1: a decision imports no Node module, no npm package and no clock.',
      severity: 'error',
      from: { path: '/(decide|operations|choose-release|watch)\\.ts$' },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev'] },
    },
    {
      name: 'only-adapters-touch-the-host',
      comment: 'House rule 3. Hashing and paths are computation, not the host.',
      severity: 'error',
      from: {
        path: '^apps/(agent|backend)/src/',
        pathNot: [
          '/adapters/',
          '/(config|main)\\.ts$',
          '/config/',
          '^apps/agent/src/http/',
          // The portal listens like the API does.
          '^apps/agent/src/portal/(server\\.ts|body\\.ts|testing/)',
          '^apps/backend/src/',
          '\\.test\\.ts$',
        ],
      },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|path|url|events|util|stream)' },
    },
    {
      name: 'protocol-and-web-run-in-a-browser',
      severity: 'error',
      from: { path: '^(packages/protocol/src|apps/web/src)/', pathNot: '\\.test\\.tsx?$' },
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
