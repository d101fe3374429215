import type { FindingTexts } from '../en/findings.ts';

/** What a check of the diagnostics found, and what to do about it. */
export const finding: FindingTexts = {
  check_failed: {
    message: 'Nie udało się tego sprawdzić: {{reason}}.',
    help: 'Sprawdź ponownie. Jeśli to nie minie, więcej może powiedzieć dziennik programu.',
  },
  follows: {
    message: 'Przyczyną jest inny wynik tego raportu ({{cause}}).',
    help: 'Najpierw usuń tamten problem, a potem sprawdź ponownie.',
  },
  certificate_missing: {
    message: 'W {{folder}} nie ma certyfikatu, więc aplikacja webowa nie ma HTTPS.',
    help: 'Usługa aktualizacji tworzy go w ciągu minuty. Jeśli to nie minie, przyczyna jest w jej dzienniku (certificate_failed).',
  },
  certificate_expired: {
    message: 'Certyfikat stacji jest ważny od {{from}} do {{until}}, a nie teraz.',
    help: 'Sprawdź zegar maszyny. Usługa aktualizacji odnawia certyfikat, gdy działa.',
  },
  authority_renewed: {
    message:
      'Urząd certyfikacji stacji został odnowiony. Telefony i komputery z poprzednim certyfikatem ufają mu do {{until}}.',
    help: 'Przed tym dniem otwórz na każdym z nich /secure i zainstaluj certyfikat ponownie.',
  },
  public_certificate_missing: {
    message: 'Nie ma certyfikatu dla {{name}}: {{reason}}.',
    help: 'Ta nazwa musi prowadzić z internetu do stacji, a router przekierowywać do niej port 80 lub 443. Proxy spróbuje ponownie automatycznie. HTTP i własny certyfikat w tym czasie działają.',
  },
  public_certificate_ending: {
    message: 'Certyfikat dla {{name}} kończy się {{until}} i nie jest odnawiany: {{reason}}.',
    help: 'Ta nazwa musi prowadzić z internetu do stacji, a router przekierowywać do niej port 80 lub 443. Proxy spróbuje ponownie automatycznie.',
  },
  public_certificate_ended: {
    message: 'Certyfikat dla {{name}} skończył się {{until}} i nie został odnowiony: {{reason}}.',
    help: 'Sprawdź zegar maszyny. Ta nazwa musi prowadzić z internetu do stacji, a router przekierowywać do niej port 80 lub 443. HTTP i własny certyfikat w tym czasie działają.',
  },
  backup_disk_missing: {
    message: 'W {{folder}} (BACKUP_DIR) nie jest zamontowany żaden dysk: kopie zapasowe zostają na dysku stacji.',
    help: 'Podłącz pendrive albo zamontuj udział i sprawdź, co go montuje (/etc/fstab). Albo usuń BACKUP_DIR.',
  },
  backup_disk_not_writable: {
    message:
      'Dysk w {{folder}} (BACKUP_DIR) nie przyjmuje kopii zapasowych: użytkownik {{user}} nie może tam zapisywać.',
    help: 'Uczyń tego użytkownika właścicielem poleceniem chown; pendrive z FAT lub exFAT zamontuj z uid={{user}}. Dysk tylko do odczytu ma błędy albo przełącznik.',
  },
  backup_disk_fat: {
    message: 'Dysk w {{folder}} ma system plików FAT: żaden plik na nim nie może być większy niż 4 GB.',
    help: 'Większa kopia zapasowa się tam nie zmieści, nawet gdy jest dość wolnego miejsca. Sformatuj dysk jako exFAT lub ext4, zanim kopie będą tak duże.',
  },
  backup_disk_exfat: {
    message:
      'Dysk w {{folder}} ma system plików exFAT, który nie prowadzi dziennika: dysk odłączony lub pozbawiony zasilania podczas zapisu kopii może stracić pliki.',
    help: 'Odmontuj go, zanim go odłączysz. Z ext4 dysk zachowa to, co miał.',
  },
  local_name_missing: {
    message: 'Stacja nie ma nazwy w swojej sieci (mDNS): można ją znaleźć tylko po adresie.',
    help: 'systemctl restart avahi-daemon; dziennik usługi mówi, dlaczego nie działa.',
  },
  security_updates_pending: {
    message: 'Aktualizacje zabezpieczeń nie są zainstalowane, liczba pakietów komputera: {{count}} ({{packages}}).',
    help: 'Instaluje je apt-get upgrade. Pakiet unattended-upgrades robi to automatycznie.',
  },
  config_invalid: {
    message: '{{problem}}.',
    help: 'Popraw plik środowiska. Wszystkie zmienne są w docs/configuration.md.',
  },
  config_file_unusable: {
    message: 'Nie można użyć {{file}} ({{variable}}): {{reason}}.',
    help: 'Popraw ten plik albo ścieżkę w pliku środowiska.',
  },
  disk_full: {
    message: 'W {{folder}} zostało tylko {{free}} z {{size}}.',
    help: 'Zwolnij trochę miejsca: stare dzienniki, pobrane pakiety, obrazy bez nazwy. Polecenia są w docs/operations.md.',
  },
  disk_nearly_full: {
    message: 'W {{folder}} zostało {{free}} z {{size}}.',
    help: 'Wkrótce zwolnij trochę miejsca: stare dzienniki, pobrane pakiety, obrazy bez nazwy. Polecenia są w docs/operations.md.',
  },
  disk_files_used_up: {
    message: 'System plików {{folder}} zmieści już tylko tyle plików: {{free}}.',
    help: 'Usuń małe pliki, na przykład stare dzienniki i pakiety. Więcej miejsca nie pomoże.',
  },
  disk_read_only: {
    message: 'System plików {{folder}} ({{device}}) jest tylko do odczytu.',
    help: 'Jądro robi tak po błędach dysku. Skopiuj teraz dane, a potem uruchom stację ponownie. Jeśli to się powtórzy, wymień kartę lub dysk.',
  },
  disk_errors: {
    message: 'Jądro naliczyło błędy systemu plików na {{device}}: {{count}}. Pierwszy: {{first}}, ostatni: {{last}}.',
    help: 'Skopiuj dane i wymień kartę lub dysk. Po naprawie programem e2fsck licznik zaczyna od zera.',
  },
  disk_worn: {
    message: 'Pamięć {{device}} zużyła {{percent}} % przewidywanej trwałości.',
    help: 'Zaplanuj jej wymianę.',
  },
  disk_worn_out: {
    message: 'Pamięć {{device}} jest zużyta.',
    help: 'Skopiuj dane i od razu ją wymień.',
  },
  clock_wrong: {
    message: 'Zegar wskazuje {{now}}, ale coś zapisano {{known}}.',
    help: 'Połącz stację z internetem, żeby czas sieciowy (NTP) ustawił zegar, albo ustaw go ręcznie.',
  },
  clock_not_synchronised: {
    message: 'Zegar nie jest zsynchronizowany z czasem sieciowym (NTP).',
    help: 'Połącz stację z internetem; router lub sieć może blokować NTP (port UDP 123).',
  },
  name_unresolved: {
    message: 'Nie można znaleźć adresu dla nazwy {{host}} ({{reason}}).',
    help: 'Sprawdź sieć stacji i jej serwer nazw (DNS).',
  },
  data_folder_missing: {
    message: 'Folder danych {{folder}} nie istnieje.',
    help: 'Backend tworzy go przy pierwszym uruchomieniu. Jeśli już działał, sprawdź DATA_DIR i co jest tam zamontowane.',
  },
  data_folder_not_writable: {
    message: 'W folderze danych {{folder}} nie można zapisywać.',
    help: 'Musi należeć do użytkownika, pod którym działa backend.',
  },
  open_to_others: {
    message: 'Inni użytkownicy mogą odczytać {{file}} (uprawnienia {{mode}}).',
    help: 'Pozwól na to tylko właścicielowi: chmod go= i nazwa pliku.',
  },
  owner_differs: {
    message: '{{file}} należy do użytkownika {{owner}}, a folder danych do użytkownika {{expected}}.',
    help: 'Przekaż go temu samemu użytkownikowi poleceniem chown; inaczej backend nie może go używać.',
  },
  key_damaged: {
    message: 'W {{file}} nie ma klucza.',
    help: 'Przywróć go z kopii zapasowej. Bez niego backend utworzy nowy: wszyscy zalogują się ponownie, a tajne ustawienia (Wi-Fi, chmura) trzeba będzie wpisać jeszcze raz.',
  },
  database_missing: {
    message: 'Nie ma bazy danych {{file}}.',
    help: 'Przy następnym uruchomieniu backend ją utworzy albo przywróci najnowszą dobrą kopię.',
  },
  database_damaged: {
    message: 'Baza danych {{file}} jest uszkodzona: {{reason}}.',
    help: 'Uruchom backend ponownie: zachowa uszkodzony plik i przywróci najnowszą dobrą kopię. Potem sprawdź stan dysku.',
  },
  database_unreadable: {
    message: 'Nie można odczytać bazy danych {{file}}: {{reason}}.',
    help: 'Sprawdź jej uprawnienia i stan dysku.',
  },
  database_not_read: {
    message: 'Baza danych jest duża ({{size}}); sprawdzono tylko jej początek.',
    help: 'Całą odczyta diagnostyka z wiersza poleceń stacji.',
  },
  database_unreachable: {
    message: 'Baza danych na {{host}} nie odpowiada: {{reason}}.',
    help: 'Zajrzyj do dziennika serwera bazy danych i sprawdź DATABASE_URL.',
  },
  database_suspected: {
    message: 'Backend zauważył oznakę uszkodzenia: {{reason}}.',
    help: 'Uruchom backend ponownie: sprawdzi cały plik i w razie potrzeby przywróci najnowszą dobrą kopię.',
  },
  database_replacement_unfinished: {
    message: 'Zastępowanie uszkodzonej bazy danych zostało przerwane.',
    help: 'Uruchom backend ponownie: dokończy to.',
  },
  database_was_damaged: {
    message: 'Uszkodzoną bazę danych zastąpiono kopią; jest zachowana jako {{file}}.',
    help: 'Sprawdź stan dysku. Usuń ten plik, gdy nie będzie już potrzebny.',
  },
  database_was_lost: {
    message: 'Baza danych była uszkodzona i żadna kopia nie była dobra; uszkodzona jest zachowana jako {{file}}.',
    help: 'Zachowaj ten plik: może to być wszystko, co zostało. Otwórz aplikację webową i przywróć kopię zapasową.',
  },
  database_newer: {
    message: 'Bazę danych zmieniła nowsza wersja ({{migrations}}).',
    help: 'Nic nie rób, dopóki wszystko działa: po przywróceniu poprzedniej wersji to normalne.',
  },
  database_behind: {
    message: 'Baza danych czeka na zmiany z tej wersji ({{migrations}}).',
    help: 'Uruchom backend: wprowadzi je.',
  },
  copies_missing: {
    message: 'Nie ma kopii bazy danych.',
    help: 'Backend, gdy działa, tworzy jedną dziennie. Jeśli po dobie jej nie ma, przyczyna jest w jego dzienniku (database_copy_failed).',
  },
  copies_old: {
    message: 'Wiek najnowszej kopii bazy danych w dniach: {{days}}.',
    help: 'Backend, gdy działa, tworzy jedną dziennie. Dlaczego tego nie robi, mówi jego dziennik (database_copy_failed).',
  },
  copy_damaged: {
    message: 'Kopia {{file}} jest uszkodzona: {{reason}}.',
    help: 'Sprawdź stan dysku. Usuń tę kopię; backend utworzy nową w ciągu doby.',
  },
  broker_unreachable: {
    message: 'Broker MQTT {{broker}} nie odpowiada: {{reason}}.',
    help: 'Sprawdź usługę brokera, jej dziennik i MQTT_URL.',
  },
  broker_refuses: {
    message: 'Broker MQTT {{broker}} odrzuca logowanie backendu: {{reason}}.',
    help: 'MQTT_USERNAME i MQTT_PASSWORD muszą być takie, jakie zna broker. W dostarczonym stosie uruchom ponownie usługę mqtt.',
  },
  broker_not_listening: {
    message: 'Backend działa, ale na porcie jego brokera ({{port}}) nic nie nasłuchuje.',
    help: 'Zajrzyj do dziennika backendu, potem uruchom go ponownie.',
  },
  port_taken: {
    message: 'Portu {{port}} używa inny program.',
    help: 'Zatrzymaj ten program albo wybierz inny port w pliku środowiska.',
  },
  backend_stopped: {
    message: 'Backend nie działa.',
    help: 'Uruchom go. Jeśli znów się zakończy, przyczyna jest w jego dzienniku.',
  },
  backend_unhealthy: {
    message: 'Backend jest uruchomiony, ale nie działa poprawnie: {{reason}}.',
    help: 'Więcej mówią pozostałe testy i dziennik backendu.',
  },
  agent_unreachable: {
    message: 'Usługa aktualizacji nie odpowiada pod {{address}}: {{reason}}.',
    help: 'Sprawdź tę usługę: systemctl status station-agent. Potrzebują jej aktualizacje i Wi-Fi; urządzenia nie.',
  },
  agent_refuses: {
    message: 'Usługa aktualizacji odrzuca token backendu.',
    help: 'AGENT_TOKEN musi być taki sam w plikach środowiska usługi aktualizacji i stosu.',
  },
  web_app_incomplete: {
    message: 'Brakuje pliku aplikacji webowej: {{file}}.',
    help: 'Zainstaluj wersję ponownie albo zbuduj aplikację webową od nowa. WEB_DIR musi wskazywać jej folder.',
  },
  config_doubtful: {
    message: '{{problem}}.',
    help: 'Popraw plik środowiska usługi aktualizacji, potem uruchom ją ponownie.',
  },
  environment_open_to_others: {
    message: 'Inni użytkownicy mogą odczytać {{file}} (uprawnienia {{mode}}), a są tam tajne dane.',
    help: 'Pozwól na to tylko właścicielowi: chmod 600 i nazwa pliku.',
  },
  state_missing: {
    message: 'W {{folder}} nie ma dziennika stanu: nie zainstalowano jeszcze żadnej wersji.',
    help: 'Usługa aktualizacji zainstaluje pierwszą wersję, gdy połączy się z serwerem wersji.',
  },
  state_damaged: {
    message: 'Dziennik stanu w {{folder}} jest uszkodzony: {{reason}}.',
    help: 'Uruchom usługę aktualizacji ponownie: zachowa uszkodzony plik i odczyta stan z działającego stosu. Potem sprawdź stan dysku.',
  },
  state_unreadable: {
    message: 'Nie można odczytać stanu w {{folder}}: {{reason}}.',
    help: 'Uruchom diagnostykę jako root. Sprawdź stan dysku.',
  },
  state_file_stale: {
    message: '{{file}} nie zgadza się z dziennikiem stanu.',
    help: 'Uruchom usługę aktualizacji ponownie: zapisze ten plik od nowa.',
  },
  unit_inactive: {
    message: 'Usługa station-agent nie działa (stan: {{state}}).',
    help: 'Uruchom ją: systemctl start station-agent. Dlaczego się zakończyła, mówi jej dziennik.',
  },
  unit_not_enabled: {
    message: 'Usługa station-agent nie uruchamia się razem ze stacją (stan: {{state}}).',
    help: 'Włącz ją: systemctl enable station-agent',
  },
  engine_unreachable: {
    message: 'Docker nie odpowiada: {{reason}}.',
    help: 'Uruchom go ponownie: systemctl restart docker. Dlaczego nie działa, mówi jego dziennik.',
  },
  compose_fails: {
    message: 'Compose nie może odczytać stosu w {{folder}}: {{reason}}.',
    help: 'Popraw docker-compose.yml lub jego .env albo zainstaluj wtyczkę Compose do Dockera.',
  },
  image_files_unsynced: {
    message:
      'containerd nie zapisuje plików obrazu na dysku, zanim pobieranie się skończy: po zaniku zasilania mogą być puste.',
    help: 'Ustaw sync_fs = true w /etc/containerd/config.toml, w części diff-service, i uruchom ponownie containerd i Dockera.',
  },
  image_missing: {
    message: 'Brakuje obrazu usługi {{service}} ({{version}}).',
    help: 'Uruchom stację ponownie, gdy ma połączenie z rejestrem: usługa aktualizacji znów pobierze obraz.',
  },
  rollback_image_missing: {
    message: 'Brakuje obrazu usługi {{service}} poprzedniej wersji {{version}}: przywrócenie jej wymaga sieci.',
    help: 'Nic nie rób. Następna aktualizacja znów zachowa całą poprzednią wersję.',
  },
  service_not_running: {
    message: 'Usługa {{service}} nie działa (stan: {{state}}).',
    help: 'Zajrzyj do jej dziennika poleceniem docker compose logs. Jeśli to nie minie, uruchom stację ponownie: usługa aktualizacji ją uruchomi.',
  },
  network_manager_missing: {
    message: 'NetworkManager nie działa: usługa aktualizacji nie może zarządzać Wi-Fi.',
    help: 'Uruchom go: systemctl start NetworkManager. Jeśli stacja nie potrzebuje Wi-Fi, ustaw WIFI_WATCHDOG=false.',
  },
  wifi_device_missing: {
    message: 'Nie ma karty Wi-Fi {{device}}.',
    help: 'Sprawdź WIFI_INTERFACE oraz czy karta jest podłączona i jej sterownik wczytany.',
  },
  wifi_blocked: {
    message: 'Moduł radiowy Wi-Fi jest wyłączony.',
    help: 'Włącz go: rfkill unblock wifi. Niektóre moduły wymagają WIFI_COUNTRY.',
  },
  release_server_silent: {
    message: 'Nie można pobrać listy wersji {{url}}: {{reason}}.',
    help: 'Sprawdź połączenie z internetem i UPDATE_SERVER_URL. W domu wszystko działa bez tego.',
  },
  port_80_taken: {
    message: 'Port 80 odpowiada, ale to nie ta stacja: {{reason}}.',
    help: 'Portu 80 używa inny program. Zatrzymaj go albo daj proxy inny port zmienną HTTP_PORT.',
  },
  dns_port_taken: {
    message: 'Serwer DNS zajmuje port 53 na każdym adresie: telefony nie trafią na stronę konfiguracji hotspotu.',
    help: 'Przypisz ten serwer tylko do adresów, które obsługuje.',
  },
  backend_silent: {
    message: 'Backend pod {{url}} nie działa poprawnie: {{reason}}.',
    help: 'Sprawdź usługi stosu i dziennik backendu.',
  },
};
