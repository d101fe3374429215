/** What the station writes to a device (contracts, section 11). */
export type DeviceLetter = {
  ssid: string;
  password: string;
  mqtt_host: string;
  mqtt_port: number;
  device_id: string;
  device_token: string;
  station_id: string;
};
