import js from '@eslint/js';
import { existsSync } from 'node:fs';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', 'schemas/generated/', 'gateway/spec/methods.generated.ts', ...withoutTypes()] },
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
        { selector: 'MemberExpression[object.name="process"][property.name="env"]', message: 'Only main.ts reads it.' },
        {
          selector: 'CallExpression[callee.object.name="process"][callee.property.name="exit"]',
          message: 'Only main.ts exits.',
        },
      ],
    },
  },
  {
    files: ['gateway/main.ts', 'test/**', 'bench/**', 'schemas/generate.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['**/*.js'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } },
  },
  {
    // Scripts of one page share what they declare; a browser's globals are its own affair.
    files: ['gateway/server/pages/assets/*.js'],
    languageOptions: { sourceType: 'script' },
    rules: { 'no-undef': 'off', 'no-unused-vars': ['error', { vars: 'local' }] },
  },
);

/** What `npm run test:clients` installs packages for cannot be read without them. */
function withoutTypes() {
  return existsSync(new URL('test/clients/node_modules', import.meta.url)) ? [] : ['test/clients/'];
}
