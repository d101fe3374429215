import { Type, type Static } from 'typebox';

/** A release of the container stack as one station knows it. */
export const Release = Type.Object({
  version: Type.Union([Type.String(), Type.Null()], {
    description: 'SemVer; null for an adopted stack with an unknown version.',
  }),
  images: Type.Record(Type.String(), Type.String(), { description: 'Compose service → image reference.' }),
  imageIds: Type.Record(Type.String(), Type.String(), {
    description: 'Compose service → local image id (`sha256:…`); filled by the pull.',
  }),
  digests: Type.Record(Type.String(), Type.String(), {
    description:
      'Compose service → `name@sha256:…` at the registry, to fetch exactly this image again; empty when unknown.',
  }),
  layers: Type.Record(Type.String(), Type.Number(), {
    description: 'Layer digest → compressed bytes, as the registry lists them; empty when unknown.',
  }),
});
export type Release = Static<typeof Release>;
