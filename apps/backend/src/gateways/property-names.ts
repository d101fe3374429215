import { ownValue } from '@station/protocol/own-value';

export type Name = { en: string; de: string; pl: string; uk: string };

export const name = (en: string, de: string, pl: string, uk: string): Name => ({ en, de, pl, uk });

/** Names of the values that most devices have; any other one has the label that its gateway announces. */
const names: Readonly<Record<string, Name>> = {
  state: name('Switch', 'Schalter', 'Przełącznik', 'Перемикач'),
  locked: name('Locked', 'Verriegelt', 'Zamknięte', 'Замкнено'),
  movement: name('Movement', 'Bewegung', 'Ruch', 'Рух'),
  brightness: name('Brightness', 'Helligkeit', 'Jasność', 'Яскравість'),
  color_temp: name('Colour temperature', 'Farbtemperatur', 'Temperatura barwy', 'Колірна температура'),
  position: name('Position', 'Position', 'Pozycja', 'Положення'),
  tilt: name('Tilt', 'Neigung', 'Nachylenie', 'Нахил'),
  action: name('Action', 'Aktion', 'Akcja', 'Дія'),
  temperature: name('Temperature', 'Temperatur', 'Temperatura', 'Температура'),
  local_temperature: name('Temperature', 'Temperatur', 'Temperatura', 'Температура'),
  humidity: name('Humidity', 'Luftfeuchte', 'Wilgotność', 'Вологість'),
  target_humidity: name('Target humidity', 'Soll-Luftfeuchte', 'Wilgotność docelowa', 'Цільова вологість'),
  pressure: name('Pressure', 'Luftdruck', 'Ciśnienie', 'Тиск'),
  soil_moisture: name('Soil moisture', 'Bodenfeuchte', 'Wilgotność gleby', 'Вологість ґрунту'),
  illuminance: name('Illuminance', 'Beleuchtungsstärke', 'Natężenie oświetlenia', 'Освітленість'),
  battery: name('Battery', 'Batterie', 'Bateria', 'Батарея'),
  battery_low: name('Battery low', 'Batterie schwach', 'Słaba bateria', 'Батарея розряджена'),
  voltage: name('Voltage', 'Spannung', 'Napięcie', 'Напруга'),
  current: name('Current', 'Stromstärke', 'Natężenie prądu', 'Сила струму'),
  power: name('Power', 'Leistung', 'Moc', 'Потужність'),
  energy: name('Energy', 'Energie', 'Energia', 'Енергія'),
  occupancy: name('Motion', 'Bewegung', 'Ruch', 'Рух'),
  presence: name('Presence', 'Anwesenheit', 'Obecność', 'Присутність'),
  contact: name('Contact', 'Kontakt', 'Kontakt', 'Контакт'),
  vibration: name('Vibration', 'Erschütterung', 'Wstrząs', 'Вібрація'),
  water_leak: name('Water leak', 'Wasser ausgetreten', 'Wyciek wody', 'Витік води'),
  smoke: name('Smoke', 'Rauch', 'Dym', 'Дим'),
  tamper: name('Tamper', 'Manipulation', 'Sabotaż', 'Втручання'),
  co2: name('CO₂', 'CO₂', 'CO₂', 'CO₂'),
  pm25: name('Particulates PM2.5', 'Feinstaub PM2,5', 'Pył PM2,5', 'Пил PM2,5'),
  voc: name('Volatile organic compounds', 'Flüchtige Stoffe', 'Lotne związki organiczne', 'Леткі сполуки'),
  linkquality: name('Link quality', 'Verbindungsqualität', 'Jakość połączenia', 'Якість зв’язку'),
  occupied_heating_setpoint: name('Heat to', 'Heizen auf', 'Ogrzewaj do', 'Нагрівати до'),
  current_heating_setpoint: name('Heat to', 'Heizen auf', 'Ogrzewaj do', 'Нагрівати до'),
  system_mode: name('Mode', 'Modus', 'Tryb', 'Режим'),
  running_state: name('Running state', 'Betriebszustand', 'Stan pracy', 'Стан роботи'),
  child_lock: name('Child lock', 'Kindersicherung', 'Blokada rodzicielska', 'Захист від дітей'),
  scene_recall: name('Recall scene', 'Szene abrufen', 'Przywołaj scenę', 'Викликати сцену'),
  power_on_behavior: name('After a power cut', 'Nach Stromausfall', 'Po zaniku zasilania', 'Після вимкнення струму'),
};

/** What `state` is called by what it is the state of; else it is a switch. */
const states: Readonly<Record<string, string>> = { lock: 'locked', cover: 'movement' };

/**
 * @param group what the value is part of, for example `light`.
 * @param property its name without the endpoint.
 * @param end of an endpoint, such as `_l1`; a name has it too, so that two endpoints differ.
 */
export function nameOfProperty(group: string | null, property: string, end: string): Name | undefined {
  const found = ownValue(names, property === 'state' ? (ownValue(states, group ?? '') ?? property) : property);
  const suffix = end.replaceAll('_', ' ').slice(0, 24);
  if (found === undefined || suffix.trim() === '') return found;
  return name(found.en + suffix, found.de + suffix, found.pl + suffix, found.uk + suffix);
}
