import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  { ignores: ['**/dist/**', '**/node_modules/**', '.station/**', 'tests/output/**', 'docs/**'] },
  { files: ['**/*.mjs'], languageOptions: { globals: { process: 'readonly', URL: 'readonly' } } },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', package: 'node:test', name: ['test', 'it', 'describe'] }] },
      ],
      // Without it, what `using` holds is disposed before the work ends, and a catch misses the fault.
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Ports are asynchronous by contract; an implementation may have nothing to wait for.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-invalid-void-type': 'off',
      // Objects are made by factories: no method needs `this`.
      '@typescript-eslint/unbound-method': 'off',
      'no-console': 'error',
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
        { selector: 'ExportAllDeclaration', message: 'No barrels.' },
        { selector: 'TSEnumDeclaration', message: 'Union types instead of enums.' },
      ],
    },
  },
  {
    // Any of these loads Node's HTTP client with its WebAssembly: 8 MB, and absent with --jitless. See adapters/http-request.ts.
    files: ['apps/agent/src/**/*.ts', 'packages/{kit,protocol}/src/**/*.ts'],
    ignores: ['**/*.test.ts', '**/testing/**'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['fetch', 'Request', 'Response', 'Headers', 'FormData', 'WebSocket', 'EventSource'],
        ...['MessageEvent', 'CloseEvent', 'WebAssembly'],
      ],
    },
  },
  // What prints for a person or ends a process: the entry points, and the programs of the tests.
  { files: ['**/main.ts', 'scripts/**', 'tests/**', 'simulators/**'], rules: { 'no-console': 'off' } },
  { files: ['**/vite.config.ts', 'eslint.config.mjs'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['**/*.test.ts', 'tests/**'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
    },
  },
);
