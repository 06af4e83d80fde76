import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const processRules = [
  {
    selector: 'MemberExpression[object.name="process"][property.name="env"]',
    message: 'Only main.ts reads process.env.',
  },
  {
    selector: 'CallExpression[callee.object.name="process"][callee.property.name="exit"]',
    message: 'Only main.ts and start.ts end the process.',
  },
];
const timers = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'];
const timeGlobals = [...timers, 'performance'];
/** What the gateway's time in tests is based on. */
const realTime = ['test/support/elastic-clock.ts'];
const onlyClock = 'Time and timers are from gateway/clock/clock.ts.';
const onlyRandom = 'Random values are from gateway/clock/random.ts.';

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'coverage/',
      'schemas/generated/',
      'gateway/spec/methods.generated.ts',
      'gateway/network-files/options/public-fields.generated.ts',
      'gateway/network-files/options/providers.generated.ts',
      // AssemblyScript, whose types come with its compiler. The packages of the root do not have it.
      'wasm/*.ts',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strict],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Of the rules that need types, those that find defects of tests. Packages of test/clients that are not installed have none.
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-restricted-syntax': ['error', ...processRules],
    },
  },
  {
    files: ['gateway/**/*.ts', 'schemas/**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    },
  },
  {
    // A simulation replaces the clock and the randomness of gateway/clock/. young-heap.ts is loaded before all modules.
    files: ['gateway/**/*.ts'],
    ignores: ['gateway/clock/**', 'gateway/config/young-heap.ts'],
    rules: {
      'no-restricted-globals': ['error', ...timeGlobals.map((name) => ({ name, message: onlyClock }))],
      'no-restricted-properties': [
        'error',
        ...timeGlobals.map((property) => ({ object: 'globalThis', property, message: onlyClock })),
        { object: 'Date', property: 'now', message: onlyClock },
        { object: 'process', property: 'hrtime', message: onlyClock },
        { object: 'Math', property: 'random', message: onlyRandom },
        { object: 'crypto', property: 'randomUUID', message: onlyRandom },
        { object: 'crypto', property: 'getRandomValues', message: onlyRandom },
        { object: 'URL', property: 'canParse', message: 'use parseUrl of gateway/config/parse-url.ts' },
      ],
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: [
            ...['node:timers', 'node:timers/promises', 'timers', 'timers/promises'].map((name) => ({
              name,
              message: onlyClock,
            })),
            { name: 'node:perf_hooks', importNames: ['performance'], message: onlyClock },
            { name: 'node:crypto', importNames: ['randomUUID', 'randomBytes'], message: onlyRandom },
          ],
        },
      ],
      // The time of the constructor.
      'no-restricted-syntax': [
        'error',
        ...processRules,
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: onlyClock },
      ],
    },
  },
  {
    files: ['gateway/main.ts', 'gateway/start.ts', 'test/**', 'bench/**', 'schemas/generate.ts', 'vitest.config.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    // Time of tests is that of the gateway, which is simulated or elastic: no measured time decides on a busy machine.
    files: ['test/**/*.ts'],
    ignores: ['test/abuse/**', 'test/bench/**', 'test/fuzz/gateway-program.ts', ...realTime],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'performance', property: 'now', message: 'Tests use clock.now() of gateway/clock/clock.ts.' },
        { object: 'process', property: 'hrtime', message: 'Tests use clock.now() of gateway/clock/clock.ts.' },
      ],
    },
  },
  {
    files: ['**/*.js'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } },
  },
  {
    // Scripts of one page share their declarations, and use the globals of browsers.
    files: ['gateway/server/pages/assets/**/*.js'],
    languageOptions: { sourceType: 'script' },
    rules: { 'no-undef': 'off', 'no-unused-vars': ['error', { vars: 'local' }] },
  },
);
