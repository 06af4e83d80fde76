import js from '@eslint/js';
import { existsSync } from 'node:fs';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'coverage/',
      'schemas/generated/',
      'gateway/spec/methods.generated.ts',
      'gateway/network-files/providers/providers.generated.ts',
      ...withoutTypes(),
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'MemberExpression[object.name="process"][property.name="env"]',
          message: 'Only program.ts reads process.env.',
        },
        {
          selector: 'CallExpression[callee.object.name="process"][callee.property.name="exit"]',
          message: 'Only program.ts ends the process.',
        },
      ],
    },
  },
  {
    files: ['gateway/program.ts', 'test/**', 'bench/**', 'schemas/generate.ts'],
    rules: { 'no-restricted-syntax': 'off' },
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

/** Ignores test/clients until `npm run test:clients` has installed the packages that its types need. */
function withoutTypes() {
  return existsSync(new URL('test/clients/node_modules', import.meta.url)) ? [] : ['test/clients/'];
}
