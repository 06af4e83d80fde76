# syntax=docker/dockerfile:1

FROM node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json rolldown.config.js ./
COPY gateway ./gateway
COPY schemas ./schemas
RUN npm run build

FROM node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df AS packages
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df
WORKDIR /app
# Compiled code without sources: the start compiles nothing and writes nothing here.
COPY --from=packages /build/node_modules ./node_modules
COPY package.json LICENSE ./
COPY bin ./bin
COPY schemas/network.schema.json ./schemas/network.schema.json
COPY schemas/defaults.schema.json ./schemas/defaults.schema.json
COPY schemas/auth.schema.json ./schemas/auth.schema.json
COPY schemas/generated ./schemas/generated
COPY networks ./networks
COPY gateway/server/pages/assets ./gateway/server/pages/assets
COPY --from=build /build/dist/bundle ./dist/bundle
# For the key file if REDIS_URL is not set: mount a volume here.
RUN mkdir --mode=700 /data && chown 1000:1000 /data

ENV NODE_ENV=production HOST=0.0.0.0 PORT=8545 OPS_PORT=9464 DATA_DIR=/data
EXPOSE 8545 9464
# The image's user `node`, as a number: Kubernetes' runAsNonRoot does not accept names.
USER 1000:1000
STOPSIGNAL SIGTERM
# Not /readyz: without Redis, a gateway still serves the keys in its memory, and must not be restarted.
HEALTHCHECK --interval=15s --timeout=5s --start-period=15s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.OPS_PORT + '/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node without a shell or npm in between, so that it receives signals.
ENTRYPOINT ["node", "dist/bundle/main.js"]
CMD ["start"]
