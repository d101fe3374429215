declare module '../store/schema.ts' {
  interface Schema {
    gateways: GatewaysTable;
    gateway_devices: GatewayDevicesTable;
  }
}

/** Gateways of other systems (ADR 82). `base_topic`: the root of their tree; `discovery_prefix`: of another one; `token_hash`: SHA-256 (hex) of the password of their login. */
export type GatewaysTable = {
  id: string;
  name: string;
  dialect: string;
  base_topic: string;
  discovery_prefix: string | null;
  login: string;
  token_hash: string;
  created_at: number;
};

/** What a gateway has announced. */
export type GatewayDevicesTable = {
  external_id: string;
  gateway_id: string;
  /** As the gateway calls it. */
  name: string;
  /** JSON of a `DevicePlan`. */
  plan: string;
  /** 1: it became a device of the station. One that is none any more was removed by a person. */
  was_added: number;
  /** Since when the gateway does not announce it. */
  gone_at: number | null;
};
