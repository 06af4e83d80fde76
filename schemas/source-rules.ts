import { unitsPattern } from '../gateway/network-files/options/units-option.ts';
import { methodGroups, provenParts, resultMeanings } from '../gateway/spec/method-spec.ts';

/** The form of an entry of methods/*.yaml, as JSON Schema. Unknown keys are rejected as misspellings. */
const named = { name: { type: 'string', minLength: 1 } };
const anySchema = { type: 'object' };

const param = {
  type: 'object',
  required: ['name', 'summary', 'required', 'schema'],
  additionalProperties: false,
  properties: { ...named, summary: { type: 'string' }, required: { type: 'boolean' }, schema: anySchema },
};

const value = {
  type: 'object',
  required: ['name', 'value'],
  additionalProperties: false,
  properties: { ...named, value: true },
};

const example = {
  type: 'object',
  required: ['name', 'params', 'result'],
  additionalProperties: false,
  properties: { ...named, params: { type: 'array', items: value }, result: value },
};

const error = {
  type: 'object',
  required: ['$ref'],
  additionalProperties: false,
  properties: { $ref: { type: 'string', pattern: '^#/components/errors/' } },
};

/** A number or a formula. */
export const units = {
  anyOf: [
    { type: 'number', minimum: 0.001 },
    { type: 'string', pattern: unitsPattern },
  ],
};

const extension = {
  type: 'object',
  additionalProperties: false,
  properties: {
    answer: { enum: ['local', 'socket', 'filters', 'document'] },
    send: { enum: ['once', 'operation'] },
    executes: { const: true },
    group: { enum: methodGroups },
    role: { type: 'string', pattern: '^[a-z][a-zA-Z]*$' },
    resultIs: { enum: resultMeanings },
    tracks: {
      type: 'object',
      minProperties: 1,
      maxProperties: 1,
      additionalProperties: false,
      properties: { transaction: { type: 'string' }, sender: { type: 'string' } },
    },
    identity: { type: 'object', minProperties: 1, additionalProperties: { type: 'string' } },
    details: { type: 'object', minProperties: 1, maxProperties: 1, additionalProperties: { type: 'string' } },
    unsupported: { const: 'not-found' },
    defaultsToLatest: { type: 'string' },
    splits: { type: 'string' },
    audit: { const: 'off' },
    provenAs: { enum: provenParts },
    isAdvice: { const: true },
    units,
    cache: {
      anyOf: [
        { enum: ['head', 'result'] },
        { type: 'object', required: ['at'], additionalProperties: false, properties: { at: { type: 'string' } } },
      ],
    },
  },
};

export const methodRules = {
  type: 'object',
  required: ['name', 'summary', 'paramStructure', 'params', 'result', 'errors', 'examples'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', pattern: '^[a-z][a-z0-9]*[_.][a-zA-Z0-9]+$' },
    summary: { type: 'string', minLength: 1 },
    description: { type: 'string', minLength: 1 },
    paramStructure: { const: 'by-position' },
    params: { type: 'array', items: param },
    result: {
      type: 'object',
      required: ['name', 'schema'],
      additionalProperties: false,
      properties: { ...named, schema: anySchema },
    },
    errors: { type: 'array', minItems: 1, items: error },
    'x-gatehouse': extension,
    examples: { type: 'array', minItems: 1, items: example },
  },
};

/** The form of methods/development.yaml. */
export const developmentRules = {
  type: 'array',
  uniqueItems: true,
  items: { type: 'string', pattern: '^[a-z][a-z0-9]*_([a-zA-Z0-9_]+|\\*)$' },
};

/** The form of methods/pass-through.yaml. */
export const passThroughRules = {
  type: 'object',
  required: ['units', 'splits', 'groups', 'blocks'],
  additionalProperties: false,
  properties: {
    units: {
      type: 'object',
      propertyNames: { pattern: '^[a-z][a-z0-9]*_[a-zA-Z0-9_]*\\*?$' },
      additionalProperties: units,
    },
    splits: {
      type: 'object',
      propertyNames: { pattern: '^[a-z][a-z0-9]*_[a-zA-Z0-9_]*$' },
      additionalProperties: { type: 'integer', minimum: 0 },
    },
    groups: {
      type: 'object',
      propertyNames: { pattern: '^[a-z][a-z0-9]*_[a-zA-Z0-9_]*\\*?$' },
      additionalProperties: { enum: methodGroups },
    },
    blocks: {
      type: 'object',
      propertyNames: { pattern: '^[a-z][a-z0-9]*_[a-zA-Z0-9_]*\\*?$' },
      additionalProperties: {
        type: 'object',
        required: ['param'],
        additionalProperties: false,
        properties: { param: { type: 'integer', minimum: 0 }, readsState: { const: true } },
      },
    },
  },
};

/** The form of never-opened.yaml. */
export const neverOpenedRules = {
  type: 'array',
  items: {
    type: 'object',
    required: ['methods', 'effect', 'source'],
    additionalProperties: false,
    properties: {
      methods: { type: 'array', minItems: 1, items: { type: 'string', pattern: '^[a-zA-Z0-9_*]+$' } },
      effect: { type: 'string', minLength: 1 },
      sends: { const: true },
      source: { type: 'string', minLength: 1 },
    },
  },
};

/** The form of provider-urls.yaml. */
export const providerUrlRules = {
  type: 'array',
  items: {
    type: 'object',
    required: ['name', 'url', 'lists'],
    additionalProperties: false,
    properties: {
      name: { type: 'string', pattern: '^[a-z][a-z0-9]{0,19}$' },
      url: { type: 'string', pattern: '^https://[^\\s]*\\{chain\\}' },
      websocketUrl: { type: 'string', pattern: '^wss://[^\\s]*\\{chain\\}' },
      keyPerChain: { const: true },
      lists: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          required: ['source', 'chains'],
          additionalProperties: false,
          properties: {
            source: { type: 'string', minLength: 10 },
            websocket: { const: true },
            chains: {
              type: 'object',
              minProperties: 1,
              propertyNames: { pattern: '^[1-9][0-9]*$' },
              additionalProperties: { type: 'string', pattern: '^[a-z0-9._-]*$' },
            },
          },
        },
      },
    },
  },
};
